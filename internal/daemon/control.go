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
	mux.HandleFunc("GET /v1/bound", answer(func(r *http.Request) (Bound, error) {
		return d.Bound(r.Context(), r.URL.Query().Get("account"))
	}))
	mux.HandleFunc("GET /v1/explain", answer(func(r *http.Request) (Explanation, error) {
		q := r.URL.Query()
		return d.Explain(r.Context(), q.Get("account"), q.Get("message"))
	}))
	mux.HandleFunc("POST /v1/explain", answer(d.serveExplain))
	mux.HandleFunc("POST /v1/classify", answer(d.serveClassify))
	mux.HandleFunc("POST /v1/filter", d.serveFilter)
	mux.HandleFunc("POST /v1/pause", answer(func(r *http.Request) (Switched, error) {
		return d.Pause(r.Context(), r.URL.Query().Get("account"))
	}))
	mux.HandleFunc("POST /v1/resume", answer(func(r *http.Request) (Switched, error) {
		return d.Resume(r.Context(), r.URL.Query().Get("account"))
	}))
	mux.HandleFunc("POST /v1/undo", answer(d.serveUndo))
	mux.HandleFunc("POST /v1/unlearn", answer(d.serveUnlearn))
	mux.HandleFunc("POST /v1/forget", answer(d.serveForget))
	mux.HandleFunc("GET /v1/ledger", answer(d.serveLedger))
	mux.HandleFunc("GET /v1/words", answer(d.serveWords))
	mux.HandleFunc("POST /v1/learn", answer(d.serveLearn))
	mux.HandleFunc("POST /v1/compact", answer(func(r *http.Request) (Compacted, error) { return d.Compact(r.Context()) }))
	mux.HandleFunc("GET /v1/backup", d.streaming(stop, func(r *http.Request, w io.Writer) error {
		return d.Backup(r.Context(), w)
	}))
	mux.HandleFunc("GET /v1/export", d.streaming(stop, func(r *http.Request, w io.Writer) error {
		return d.Export(r.Context(), r.URL.Query().Get("account"), w)
	}))
	return mux
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
