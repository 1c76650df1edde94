package control

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hinged/hinged/internal/desk"
)

// filterPatience bounds how long one message of a mail filter may take.
const filterPatience = 30 * time.Second

// filter answers with what a mail filter needs of it, as passthrough
// encodes it. A process waits for this that is there for one message, so it takes
// the connection over: net/http would go on to listen for another request while
// it answers, which costs more than the answer does.
func (s *Server) filter(w http.ResponseWriter, r *http.Request) {
	hijacker, ok := w.(http.Hijacker)
	if !ok || r.ProtoMajor != 1 || r.ProtoMinor != 0 || r.ContentLength < 0 || r.ContentLength > maxMail {
		http.Error(w, "a message, by HTTP/1.0 and with its length", http.StatusBadRequest)
		return
	}
	s.filters.Add(1)
	defer s.filters.Done()
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		return // nobody is there to tell
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(r.Context(), filterPatience)
	defer cancel()
	// When the time is over, or the daemon stops, reading and writing fail at once.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	raw := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(buffered, raw); err != nil {
		return
	}
	status, body := "200 OK", []byte(nil)
	if c, err := desk.Classify.Do(ctx, s.host, named(r), desk.ClassifyRequest{Mail: raw}); err != nil {
		status = "500 Internal Server Error" // the long way will ask for the error
	} else {
		a := c.Answer()
		body = a.Encode()
	}
	_, _ = fmt.Fprintf(conn, "HTTP/1.0 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}
