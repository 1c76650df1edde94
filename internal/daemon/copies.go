package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/hinged/hinged/store"
)

// streamPatience is how long whoever asked for a copy may take nothing of it: a
// copy that is not taken makes the store grow.
const streamPatience = time.Minute

// Backup implements Backend.
func (d *Daemon) Backup(ctx context.Context, w io.Writer) error {
	_, err := d.store.Backup(watchful{ctx, w})
	return err
}

// Export implements Backend.
func (d *Daemon) Export(ctx context.Context, account string, w io.Writer) error {
	return export(ctx, d.store, account, w)
}

// Backup implements Backend.
func (o *Offline) Backup(ctx context.Context, w io.Writer) error {
	_, err := o.store.Backup(watchful{ctx, w})
	return err
}

// Export implements Backend.
func (o *Offline) Export(ctx context.Context, account string, w io.Writer) error {
	return export(ctx, o.store, account, w)
}

// export writes an account of the store, whether or not it is configured.
func export(ctx context.Context, s *store.Store, account string, w io.Writer) error {
	names, err := s.Accounts()
	if err != nil {
		return err
	}
	if account, err = pick(names, account); err != nil {
		return err
	}
	_, err = s.Export(account, watchful{ctx, w})
	return err
}

// Backup implements Backend.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	return c.stream(ctx, "/v1/backup", nil, w)
}

// Export implements Backend.
func (c *Client) Export(ctx context.Context, account string, w io.Writer) error {
	return c.stream(ctx, "/v1/export", of(account), w)
}

// stream copies an answer that is no JSON to w. An answer that breaks off is an
// error.
func (c *Client) stream(ctx context.Context, path string, query url.Values, w io.Writer) error {
	resp, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("taking it from the daemon: %w", err)
	}
	return nil
}

// streaming answers with what send writes. Before the first byte an error is told
// as every other is; after it the answer breaks off. It also does when stop is
// done, so that a copy does not keep the daemon from ending.
func (d *Daemon) streaming(stop context.Context, send func(r *http.Request, w io.Writer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out := &sending{w: w, deadline: http.NewResponseController(w)}
		defer context.AfterFunc(stop, out.end)()
		err := send(r, out)
		switch {
		case err == nil:
		case !out.begun:
			answer(func(*http.Request) (struct{}, error) { return struct{}{}, err })(w, r)
		default:
			d.log.Warn("a copy broke off", "path", r.URL.Path, "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}

// sending writes an answer as long as it is taken and nobody ends it.
type sending struct {
	w        http.ResponseWriter
	deadline *http.ResponseController
	begun    bool // something was written

	mu    sync.Mutex
	ended bool
}

// end makes Write fail, also the one that is waiting.
func (s *sending) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	_ = s.deadline.SetWriteDeadline(time.Now()) // a connection that is gone needs none
}

func (s *sending) Write(p []byte) (int, error) {
	if err := s.extend(); err != nil {
		return 0, err
	}
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "application/octet-stream")
	}
	return s.w.Write(p)
}

func (s *sending) extend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errors.New("the daemon is stopping")
	}
	return s.deadline.SetWriteDeadline(time.Now().Add(streamPatience))
}

// watchful ends writing when ctx is done.
type watchful struct {
	ctx context.Context // of one copy
	w   io.Writer
}

func (w watchful) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}
