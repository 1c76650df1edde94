package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
)

// socketPatience bounds reading a request's header.
const socketPatience = 10 * time.Second

// maxBody bounds a request's body, in bytes. The largest are those to learn from
// whole messages, whose content takes four thirds of its size on the way.
const maxBody = 256 << 20

// listen opens the control socket, for its owner alone. A socket left over by a
// daemon that was killed is replaced; the lock on the store has made sure that
// no other daemon is using it.
func listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("control socket: %s exists and is not a socket; choose another path", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("control socket: %w", err)
		}
	}
	// Made under another name, made private, then moved into place, so that at
	// no moment anybody else could connect.
	staged := path + ".new"
	_ = os.Remove(staged)
	l, err := new(net.ListenConfig).Listen(context.Background(), "unix", staged)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(staged, 0o600), os.Rename(staged, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("control socket: %w", err), l.Close())
	}
	return l, nil
}

// handler serves the control API: JSON over HTTP on the Unix socket.
// Copies that are being sent break off when stop is done.
func (d *Daemon) handler(stop context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", answer(func(r *http.Request) (Status, error) { return d.Status(r.Context()) }))
	mux.HandleFunc("GET /v1/digests", answer(func(r *http.Request) ([]Digest, error) { return d.Digests(r.Context()) }))
	mux.HandleFunc("GET /v1/verify", answer(func(r *http.Request) (Verified, error) { return d.Verify(r.Context()) }))
	mux.HandleFunc("POST /v1/compact", answer(func(r *http.Request) (Compacted, error) { return d.Compact(r.Context()) }))
	mux.HandleFunc("GET /v1/bound", answer(ofAccount(d.Bound)))
	mux.HandleFunc("POST /v1/pause", answer(ofAccount(d.Pause)))
	mux.HandleFunc("POST /v1/resume", answer(ofAccount(d.Resume)))
	mux.HandleFunc("GET /v1/explain", answer(func(r *http.Request) (Explanation, error) {
		return d.Explain(r.Context(), named(r), r.URL.Query().Get("message"))
	}))
	mux.HandleFunc("POST /v1/explain", answer(withMail(d.ExplainMail)))
	mux.HandleFunc("POST /v1/classify", answer(withMail(d.Classify)))
	mux.HandleFunc("POST /v1/filter", d.serveFilter)
	mux.HandleFunc("POST /v1/ledger", answer(withBody(d.Ledger)))
	mux.HandleFunc("POST /v1/words", answer(withBody(d.Words)))
	mux.HandleFunc("POST /v1/ask", answer(withBody(d.Ask)))
	mux.HandleFunc("GET /v1/prior", answer(func(r *http.Request) (Prior, error) { return d.Prior(r.Context()) }))
	mux.HandleFunc("POST /v1/undo", answer(withBody(d.Undo)))
	mux.HandleFunc("POST /v1/unlearn", answer(withBody(d.Unlearn)))
	mux.HandleFunc("POST /v1/forget", answer(withBody(d.Forget)))
	mux.HandleFunc("POST /v1/learn", answer(withBody(d.Learn)))
	mux.HandleFunc("GET /v1/backup", d.streaming(stop, func(r *http.Request, w io.Writer) error {
		return d.Backup(r.Context(), w)
	}))
	mux.HandleFunc("GET /v1/export", d.streaming(stop, func(r *http.Request, w io.Writer) error {
		return d.Export(r.Context(), named(r), w)
	}))
	return mux
}

// named is the account that a request names.
func named(r *http.Request) string { return r.URL.Query().Get("account") }

// ofAccount serves a method that is asked for nothing but an account.
func ofAccount[T any](do func(ctx context.Context, account string) (T, error)) func(*http.Request) (T, error) {
	return func(r *http.Request) (T, error) { return do(r.Context(), named(r)) }
}

// withBody serves a method that is asked for something in particular, which is the
// request's body as JSON.
func withBody[Q, T any](do func(ctx context.Context, account string, q Q) (T, error)) func(*http.Request) (T, error) {
	return func(r *http.Request) (out T, err error) {
		var q Q
		if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody)).Decode(&q); err != nil {
			return out, fmt.Errorf("reading the request: %w", err)
		}
		return do(r.Context(), named(r), q)
	}
}

// withMail serves a method that is given a raw message, which is the request's body.
func withMail[T any](do func(ctx context.Context, account string, raw []byte) (T, error)) func(*http.Request) (T, error) {
	return func(r *http.Request) (out T, err error) {
		raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxClassify))
		if err != nil {
			return out, fmt.Errorf("reading the message: %w", err)
		}
		return do(r.Context(), named(r), raw)
	}
}

// failure is the body of an answer that is an error.
type failure struct {
	Error string `json:"error"`
	Kind  string `json:"kind,omitempty"`
}

// kinds are the errors that are told from others across the socket, by
// failure.Kind.
var kinds = []struct {
	name string
	is   error
	code int
}{
	{"account", ErrNoAccount, http.StatusNotFound},
	{"message", ErrNoMessage, http.StatusNotFound},
	{"paused", ErrPaused, http.StatusConflict},
	{"stream", ErrStreamAccount, http.StatusConflict},
	{"elsewhere", stream.ErrElsewhere, http.StatusConflict},
	{"pending", store.ErrPending, http.StatusConflict},
	{"early", ErrTooEarly, http.StatusConflict},
	{"forget", ErrForget, http.StatusBadRequest},
	{"busy", store.ErrBusy, http.StatusConflict},
	{"space", store.ErrNoSpace, http.StatusInsufficientStorage},
	{"damaged", store.ErrDamaged, http.StatusInternalServerError},
}

// answer serves what get gives, as JSON, or why it gave none.
func answer[T any](get func(*http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := get(r)
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			f, code := failure{Error: err.Error()}, http.StatusInternalServerError
			for _, k := range kinds {
				if errors.Is(err, k.is) {
					f.Kind, code = k.name, k.code
					break
				}
			}
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(f) // the client has gone if this fails
			return
		}
		_ = json.NewEncoder(w).Encode(v)
	}
}

// account finds a running account by name.
func (d *Daemon) account(name string) (*account, error) {
	names := make([]string, 0, len(d.accounts))
	for _, a := range d.accounts {
		names = append(names, a.opts.Name)
	}
	if stream.IsAccount(name) {
		return nil, fmt.Errorf("account %s: %w", name, ErrStreamAccount)
	}
	if name == "" && d.stream != nil {
		return nil, fmt.Errorf("%w: there may be many in the stream, name one, as in %sKEY, or another account", ErrNoAccount, kafka.AccountPrefix)
	}
	name, err := pick(names, name)
	if err != nil {
		return nil, err
	}
	for _, a := range d.accounts {
		if a.opts.Name == name {
			return a, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNoAccount, name)
}

// Status implements Backend.
func (d *Daemon) Status(ctx context.Context) (Status, error) {
	s := Status{Running: true, PID: os.Getpid(), Version: d.opts.Version, Accounts: []AccountStatus{}}
	for _, a := range d.accounts {
		s.Accounts = append(s.Accounts, a.status(ctx))
	}
	if err := d.streamStatus(ctx, &s); err != nil {
		return s, err
	}
	return s, nil
}

// Digests implements Backend.
func (d *Daemon) Digests(ctx context.Context) ([]Digest, error) {
	out := []Digest{}
	for _, a := range d.accounts {
		g, _, err := a.digest(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	err := d.eachStreamed(ctx, func(name string, f *filter.Filter) error {
		g := Digest{Account: name}
		g.Model, g.State = store.Digest(f.State())
		out = append(out, g)
		return nil
	})
	return out, err
}

// digest gives an account's digest and the number of the journal entry that comes next.
func (a *account) digest(ctx context.Context) (d Digest, end uint64, err error) {
	err = a.do(ctx, func() error {
		d.Account = a.opts.Name
		d.Model, d.State = store.Digest(a.filter.State())
		end = a.filter.State().JournalNext()
		return nil
	})
	return d, end, err
}

// Verify implements Backend.
func (d *Daemon) Verify(ctx context.Context) (Verified, error) {
	return verify(d.store, func(name string) (Digest, uint64, error) {
		if stream.IsAccount(name) {
			return d.streamedDigest(ctx, name)
		}
		a, err := d.account(name)
		if err != nil {
			return Digest{}, 0, err
		}
		return a.digest(ctx)
	})
}
