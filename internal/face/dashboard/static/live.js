// SPDX-License-Identifier: Apache-2.0

// What forms and open pages do beyond plain HTML. Without it, every page shows and does the same
// when it is loaded.
(() => {
  'use strict';
  const body = document.body;
  const own = document.currentScript.src;

  const make = (tag, attributes, text) => {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    if (text) e.textContent = text;
    return e;
  };

  // ---- where the keyboard is ---------------------------------------------------

  // What tells an element from all others: its id, or how it is called in what has one.
  const markOf = (e) => {
    if (e.id) return '#' + CSS.escape(e.id);
    const within = e.closest('[id]');
    let mark = (within ? '#' + CSS.escape(within.id) + ' ' : '') + e.tagName;
    for (const name of ['href', 'name', 'value', 'aria-label']) {
      const value = e.getAttribute(name);
      if (value) mark += '[' + name + '="' + CSS.escape(value) + '"]';
    }
    return mark;
  };

  // Where an element is: in which row, and how far down on the screen.
  const placeOf = (e) => {
    const row = e.closest('li, tr'), at = row?.id ? row : e;
    return {
      mark: markOf(e), visible: e.matches(':focus-visible'), at: markOf(at), top: at.getBoundingClientRect().top,
      list: row && row.parentElement && markOf(row.parentElement), index: row && row.parentElement ? [...row.parentElement.children].indexOf(row) : -1,
    };
  };

  // The keyboard goes back there, or to what has taken the row's place.
  const goBack = (place) => {
    let e = document.querySelector(place.mark);
    if (!e && place.index >= 0) {
      const rows = document.querySelector(place.list)?.children || [];
      e = rows[Math.min(place.index, rows.length - 1)]?.querySelector('a, button');
    }
    e ||= document.getElementById('main');
    e?.focus({ preventScroll: true, focusVisible: place.visible });
    const at = document.querySelector(place.at);
    if (at) window.scrollBy(0, at.getBoundingClientRect().top - place.top);
  };

  // ---- forms -------------------------------------------------------------------

  // A form is sent once the server answers: until then it keeps what was entered.
  const unsent = 'hinged does not answer, so nothing was sent. What you entered is still here: try again in a moment.';
  const answers = async () => {
    try {
      return (await fetch(own, { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(10000) })).ok;
    } catch { return false; }
  };
  const told = (form, text) => {
    document.getElementById('unsent')?.remove();
    if (text) form.after(make('p', { class: 'alert small unsent', role: 'alert', id: 'unsent' }, text));
  };
  document.addEventListener('submit', async (e) => {
    const form = e.target, button = e.submitter;
    if (form.dataset.state === 'sure') return;
    e.preventDefault();
    if (form.dataset.state) return;
    form.dataset.state = 'asks';
    const ok = await answers();
    delete form.dataset.state;
    if (!ok) { told(form, unsent); return; }
    told(form, '');
    const place = { ...placeOf(button || form), page: location.pathname, y: window.scrollY };
    try { sessionStorage.setItem('hinged-place', JSON.stringify(place)); } catch { /* it may not be kept */ }
    if (!form.isConnected) { form.hidden = true; body.append(form); } // a piece took its place meanwhile
    form.dataset.state = 'sure';
    form.requestSubmit(button && form.contains(button) ? button : undefined);
  });

  // The page that a form led back to.
  const arrived = () => {
    for (const form of document.forms) delete form.dataset.state; // the browser kept the page
    let place = null;
    try {
      place = JSON.parse(sessionStorage.getItem('hinged-place'));
      sessionStorage.removeItem('hinged-place');
    } catch { return; }
    if (!place || place.page !== location.pathname) return;
    window.scrollTo(0, place.y);
    goBack(place);
  };
  window.addEventListener('pageshow', arrived);

  // ---- pages that are open -------------------------------------------------------

  // The server tells that something was done (live.go); the page is then loaded again, in place.
  if (!body.dataset.live || !window.EventSource) return;

  const longHidden = 60000; // a page that nobody looks at stops listening after so long
  const tryAgain = 60000;   // when the server has no room for another listener
  const pace = 20;          // loading the page takes at most this part of the time,
  const mostPause = 30000;  // unless a load took long: the next one waits no longer than this

  let source = null;
  let since = body.dataset.since || '';
  let hideTimer = 0;
  let reloadTimer = 0;
  let loads = 0;            // how many began
  let notBefore = 0;        // that the page is loaded again

  const voice = make('p', { class: 'sr', role: 'status', 'aria-live': 'polite', id: 'live-said' });
  body.append(voice);

  // The state of the connection, where it is not as it should be.
  const state = make('p', { class: 'say live-state', role: 'status', id: 'live-state', hidden: '' });
  document.getElementById('main').prepend(state);
  const tell = (text, href, link) => {
    if (state.dataset.text === text) return;
    state.dataset.text = text;
    state.textContent = text;
    if (href) state.append(' ', make('a', { href }, link));
    state.hidden = !text;
  };

  // Changes a part, and leaves what is open, entered and in view as it is.
  const keeping = (old, change) => {
    const focused = old.contains(document.activeElement) ? placeOf(document.activeElement) : null;
    const open = [...old.querySelectorAll('details')].map((d) => d.open);
    const entered = [...old.querySelectorAll('input:not([type="hidden"]), select, textarea')]
      .filter((f) => f.matches('select') ? [...f.options].some((o) => o.selected !== o.defaultSelected) : f.value !== f.defaultValue)
      .map((f) => [markOf(f), f.value]);
    const seen = focused ? null : document.elementFromPoint(window.innerWidth / 2, window.innerHeight / 3)?.closest('#main [id]');
    const view = seen && placeOf(seen);
    const now = change();
    [...now.querySelectorAll('details')].forEach((d, i) => { if (open[i]) d.open = true; });
    for (const [mark, value] of entered) {
      const field = document.querySelector(mark);
      if (field) field.value = value;
    }
    if (focused) goBack(focused);
    else if (view && window.scrollY > 0) {
      const again = document.querySelector(view.at);
      if (again) window.scrollBy(0, again.getBoundingClientRect().top - view.top);
    }
  };

  const replace = (old, next) => {
    if (old.outerHTML !== next.outerHTML) keeping(old, () => { old.replaceWith(next); return next; });
  };
  const fill = (old, from) => {
    if (old.innerHTML !== from.innerHTML) keeping(old, () => { old.replaceChildren(...from.childNodes); return old; });
  };

  // ---- the page again ----------------------------------------------------------

  const rowsOf = (root) => [...root.querySelectorAll('[data-list] li[id]')];
  const busy = (list) => list.matches(':hover') || list.contains(document.activeElement);

  // New rows wait while somebody is about to press a button in their list.
  const holds = (list, news) => {
    let button = document.getElementById('live-more');
    if (!button) {
      button = make('button', { type: 'button', id: 'live-more', class: 'live-more' });
      button.addEventListener('click', () => { button.remove(); reload(true); });
      list.before(button);
      const later = () => setTimeout(() => { if (button.isConnected && !busy(list)) reload(); }, 300);
      list.addEventListener('mouseleave', later);
      list.addEventListener('focusout', later);
    }
    button.textContent = news.length + ' new';
  };

  const show = (next, asked) => {
    const main = document.getElementById('main'), fresh = next.getElementById('main');
    if (!fresh) return;
    since = next.body.dataset.since || since;
    body.dataset.csrf = next.body.dataset.csrf || body.dataset.csrf;
    for (const id of ['asking', 'connection']) {
      const old = document.getElementById(id), now = next.getElementById(id);
      if (old && now) replace(old, now);
    }
    const list = main.querySelector('[data-list]');
    const news = list ? rowsOf(fresh).filter((row) => !document.getElementById(row.id)) : [];
    voice.textContent = news.filter((row) => row.classList.contains('is-important'))
      .map((row) => 'Important: ' + ['.from', '.subject'].map((c) => (row.querySelector(c) || row).textContent.trim()).join(', ')).join('. ');
    if (!asked && news.length && busy(list)) {
      for (const row of rowsOf(fresh)) {
        const old = document.getElementById(row.id);
        if (old) replace(old, row);
      }
      holds(list, news);
      return;
    }
    state.remove();
    fill(main, fresh);
    main.prepend(state);
    for (const row of news) row.classList.add('fresh');
    if (document.querySelector('progress')) reload();
  };

  // Whatever of the page has changed, in place. Somebody who is typing is left alone until then.
  const reload = (asked) => {
    clearTimeout(reloadTimer);
    reloadTimer = setTimeout(async () => {
      const main = document.getElementById('main');
      if (main.contains(document.activeElement) && document.activeElement.matches('input, select, textarea')) { reload(); return; }
      const load = ++loads, began = performance.now();
      let answer, text;
      try {
        answer = await fetch(location.href, { headers: { Accept: 'text/html', 'X-Live': '1' }, cache: 'no-store' });
        text = await answer.text();
      } catch { return; } // the event source tells
      notBefore = performance.now() + Math.min(pace * (performance.now() - began), mostPause);
      if (load !== loads) return; // a later load has newer things to show
      if (answer.redirected) { location.assign(answer.url); return; }
      if (answer.ok) show(new DOMParser().parseFromString(text, 'text/html'), asked);
    }, asked ? 0 : Math.max(300, notBefore - performance.now()));
  };
  if (document.querySelector('progress')) reload();

  // ---- connection ------------------------------------------------------------

  const connect = () => {
    if (source) return;
    const url = new URL(body.dataset.live, location.href);
    if (since) url.searchParams.set('since', since);
    source = new EventSource(url);
    source.onopen = () => tell('');
    source.addEventListener('news', (e) => {
      since = e.lastEventId || since;
      const on = document.querySelector('[data-reload-on]')?.dataset.reloadOn.split(' ');
      if (!on || ['gap', ...on].some((kind) => e.data.split(' ').includes(kind))) reload();
    });
    source.onerror = () => {
      if (!source) return;
      if (source.readyState === EventSource.CONNECTING) {
        tell('Not live: hinged does not answer. Trying again…');
        return;
      }
      source.close();
      source = null;
      refused();
    };
  };

  // The server would not have it: the session has ended, or too many listen.
  const refused = async () => {
    let signedOut = false;
    try {
      const answer = await fetch(location.href, { method: 'HEAD', cache: 'no-store' });
      signedOut = answer.redirected;
    } catch { /* it is stopping */ }
    if (signedOut) {
      tell('You were signed out, so this page stays as it is.', location.href, 'Sign in again');
      return;
    }
    tell('Not live at present. Load the page again to see what is new.');
    setTimeout(() => { if (!document.hidden) connect(); }, tryAgain);
  };

  const hangUp = () => {
    if (source) { source.close(); source = null; }
  };

  document.addEventListener('visibilitychange', () => {
    clearTimeout(hideTimer);
    if (document.hidden) hideTimer = setTimeout(hangUp, longHidden);
    else connect();
  });
  window.addEventListener('pagehide', hangUp);
  window.addEventListener('pageshow', (e) => { if (e.persisted) connect(); });
  connect();
})();
