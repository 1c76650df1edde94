package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/passthrough"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
)

// maxClassify bounds a message sent for classification: more than any account
// reads of one (max_bytes in the configuration is 64 MiB at most).
const maxClassify = 64<<20 + 4096

// filterPatience bounds how long one message of a mail filter may take.
const filterPatience = 30 * time.Second

// Classified is what `hinged classify` says of one message.
type Classified struct {
	File      string   `json:"file,omitempty"`    // the path, with # and the number of the message where there are several; - is standard input
	Outcome   string   `json:"outcome"`           // important, unsure or ordinary
	Reason    string   `json:"reason"`            // what decided: threshold, or why there was another outcome
	Score     float64  `json:"score"`             // of the message as it would arrive now
	Threshold float64  `json:"threshold"`         // that the score is held against
	Defects   []string `json:"defects,omitempty"` // what was broken in the message, in words
	Parts     []Part   `json:"parts,omitempty"`   // of the score, by descending |amount|
}

// readers are the featurizers with which messages are read beside the writer, so
// many at a time as there are processors.
type readers struct {
	options featurize.Options
	idle    chan *featurize.Featurizer // nil ones are not made yet
}

func newReaders(o featurize.Options) *readers {
	r := &readers{o, make(chan *featurize.Featurizer, runtime.GOMAXPROCS(0))}
	for range cap(r.idle) {
		r.idle <- nil
	}
	return r
}

// read reads a message as classify does: X-Hinged-… fields that came with it are
// out of the way before anything else sees it.
func (r *readers) read(ctx context.Context, raw []byte) (*featurize.Message, error) {
	var f *featurize.Featurizer
	select {
	case f = <-r.idle:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// Also when reading panics: the slot is free again, the featurizer is not.
	var sound *featurize.Featurizer
	defer func() { r.idle <- sound }()
	if f == nil {
		var err error
		if f, err = featurize.New(r.options); err != nil {
			return nil, err
		}
	}
	m := f.Read(passthrough.Strip(raw))
	sound = f
	return m, nil
}

// classify decides a message that was read, as the filter would now.
func classify(f *filter.Filter, m *featurize.Message) Classified {
	d, features := f.Classify(m)
	c := Classified{
		Outcome: d.Outcome.String(), Reason: d.Reason.String(), Score: d.Score, Threshold: d.Threshold,
		Defects: m.Defects, Parts: partsOf(f.Parts(features)),
	}
	if f.State().Account.Paused {
		// Off is off for mail filters, too.
		c.Outcome, c.Reason = store.DecidedUnsure.String(), "the account is paused"
	}
	return c
}

// Classify implements Backend. The message is read beside the account's writer;
// only the decision waits for it.
func (d *Daemon) Classify(ctx context.Context, name string, raw []byte) (c Classified, err error) {
	if stream.IsAccount(name) {
		return look(ctx, d, name, stateOnly, func(o *Offline) (Classified, error) { return o.Classify(ctx, name, raw) })
	}
	a, err := d.account(name)
	if err != nil {
		return c, err
	}
	m, err := a.readers.read(ctx, raw)
	if err != nil {
		return c, err
	}
	err = a.do(ctx, func() error {
		c = classify(a.filter, m)
		return nil
	})
	return c, err
}

// Classify implements Backend.
func (o *Offline) Classify(ctx context.Context, account string, raw []byte) (Classified, error) {
	name, f, err := o.named(account)
	if err != nil {
		return Classified{}, err
	}
	if o.readers[name] == nil {
		o.readers[name] = newReaders(f.Options().Featurize)
	}
	m, err := o.readers[name].read(ctx, raw)
	if err != nil {
		return Classified{}, err
	}
	return classify(f, m), nil
}

// Classify implements Backend.
func (c *Client) Classify(ctx context.Context, account string, raw []byte) (Classified, error) {
	return call[Classified](ctx, c, http.MethodPost, "/v1/classify", of(account), raw)
}

// serveFilter answers with what a mail filter needs of it, as passthrough
// encodes it. A process waits for this that is there for one message, so it takes
// the connection over: net/http would go on to listen for another request while
// it answers, which costs more than the answer does.
func (d *Daemon) serveFilter(w http.ResponseWriter, r *http.Request) {
	hijacker, ok := w.(http.Hijacker)
	if !ok || r.ProtoMajor != 1 || r.ProtoMinor != 0 || r.ContentLength < 0 || r.ContentLength > maxClassify {
		http.Error(w, "a message, by HTTP/1.0 and with its length", http.StatusBadRequest)
		return
	}
	d.filters.Add(1)
	defer d.filters.Done()
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
	if c, err := d.Classify(ctx, r.URL.Query().Get("account"), raw); err != nil {
		status = "500 Internal Server Error" // the long way will ask for the error
	} else {
		a := c.Answer()
		body = a.Encode()
	}
	_, _ = fmt.Fprintf(conn, "HTTP/1.0 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// Verdict puts a decision into words: always the score with its threshold.
func Verdict(outcome, reason string, score, threshold float64) string {
	s := fmt.Sprintf("%s, score %+.3f, threshold %+.3f", outcome, score, threshold)
	if reason != "" && reason != store.ReasonThreshold.String() {
		s += " (" + reason + ")"
	}
	return s
}

// Answer returns what a mail filter needs to know of the decision: the outcome,
// the decision in words, and the fields X-Hinged-Status and X-Hinged-Reason.
func (c *Classified) Answer() passthrough.Answer {
	var status bytes.Buffer
	fmt.Fprintf(&status, "%s; score=%+.2f; threshold=%.2f", c.Outcome, cents(c.Score), cents(c.Threshold))
	if c.Reason == store.ReasonShadow.String() {
		// A rule that marks what is important waits for the shadow's end by this.
		status.WriteString("; shadow")
	}
	fields := appendField(nil, "X-Hinged-Status", status.String())
	fields = appendField(fields, "X-Hinged-Reason", c.why())
	return passthrough.Answer{
		Outcome: c.Outcome, Verdict: Verdict(c.Outcome, c.Reason, c.Score, c.Threshold), Fields: fields,
	}
}

// cents rounds as two digits show it, without a zero below zero.
func cents(x float64) float64 { return math.Round(x*100)/100 + 0 }

// In a header field, so many parts of the score, and none that would show as 0.
const (
	whyParts = 5
	whyLeast = 0.0005
)

// why says in plain words what decided: the strongest parts of the score.
func (c *Classified) why() string {
	var list []string
	if c.Reason != store.ReasonThreshold.String() {
		list = append(list, c.Reason)
	}
	named := 0
	for _, p := range c.Parts {
		if p.Name == "" || p.Group == featurize.Constant.String() || math.Abs(p.Amount) < whyLeast {
			continue
		}
		if named++; named > whyParts {
			break
		}
		list = append(list, fmt.Sprintf("%s %+.3f", featurize.Describe(p.Name), p.Amount))
	}
	if len(list) == 0 {
		return "nothing in it is known yet"
	}
	return strings.Join(list, "; ")
}
