// SPDX-License-Identifier: Apache-2.0

package control

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

// A daemon whose process was stopped still has its socket, and the kernel accepts for it.
func TestAClientWaitsForADaemonOnlyAsLongAsItIsAlive(t *testing.T) {
	slow := make(chan struct{}) // lets slow answers end
	var dead atomic.Bool
	stopped := func(r *http.Request) { <-r.Context().Done() }
	mux := http.NewServeMux()
	mux.HandleFunc(APIPath+aliveRoute, func(_ http.ResponseWriter, r *http.Request) {
		if dead.Load() {
			stopped(r)
		}
	})
	mux.HandleFunc(APIPath+desk.GetStatus.Name, func(w http.ResponseWriter, _ *http.Request) {
		<-slow
		_, _ = io.WriteString(w, `{"version": "slow"}`)
	})
	mux.HandleFunc(APIPath+desk.Verify.Name, func(_ http.ResponseWriter, r *http.Request) { stopped(r) })
	mux.HandleFunc(APIPath+desk.Backup.Name, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		stopped(r)
	})
	dir := t.TempDir()
	dial := func(name string, serve bool) *At {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if serve {
			s := &http.Server{Handler: mux}
			go func() { _ = s.Serve(l) }()
			t.Cleanup(func() { _ = s.Close() })
		} else {
			t.Cleanup(func() { _ = l.Close() })
		}
		at, err := Dial(t.Context(), filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = at.Close() })
		return at
	}
	mute := dial("mute", false)
	mute.silence = 20 * time.Millisecond
	_, err := Ask(t.Context(), mute, desk.GetStatus, "", desk.None{})
	const want = "may be stopped or overloaded"
	if err == nil || !strings.HasPrefix(err.Error(), "asking the daemon: nothing came on "+dir) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("of a daemon that accepts nothing: %v", err)
	}
	at := dial("s", true)
	at.silence = time.Second
	time.AfterFunc(3*at.silence/2, func() { close(slow) })
	if s, err := Ask(t.Context(), at, desk.GetStatus, "", desk.None{}); err != nil || s.Version != "slow" {
		t.Errorf("of one that is slow: %+v, %v", s, err)
	}
	at = dial("dead", true) // the first may still be read
	at.silence = 20 * time.Millisecond
	dead.Store(true)
	if err := at.Backup(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("in the middle of an answer: %v", err)
	}
	_, err = Ask(t.Context(), at, desk.Verify, "", desk.VerifyRequest{})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("before its answer: %v", err)
	}
}
