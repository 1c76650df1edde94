// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"time"

	"github.com/hinged/hinged/internal/desk"
)

// Parts of pages. A page has the frame, and the part with the name of its entry in the
// menu; what is not in the table below is loaded anew when something changes it.
const (
	partFrame    = "frame"
	partOverview = "overview"
	partMessages = "messages"
	partWhatIf   = "whatif"
)

// countedDays is of how many days, today among them, an open list has live counts.
const countedDays = 7

// liveParts are the parts of pages that are sent when they change.
func liveParts() []livePart {
	return []livePart{
		{name: partFrame, event: "connection", every: 2 * time.Second, poll: 15 * time.Second, make: (*Server).liveFrame},
		{name: partOverview, event: "figures", every: time.Second, poll: time.Minute, make: (*Server).liveOverview},
		{name: partMessages, event: "figures", every: time.Second, make: (*Server).liveCounts},
		{name: partWhatIf, event: "whatif", every: time.Second, poll: time.Second, polled: true, make: (*Server).liveWhatIf},
	}
}

// liveFrame is what the frame of every page has: the connection, and how many questions
// wait.
func (s *Server) liveFrame(ctx context.Context, p *page) (string, error) {
	if err := s.look(ctx, p); err != nil {
		return "", err
	}
	return s.fragment(p, "live-frame", nil)
}

// liveOverview is what changes of the overview.
func (s *Server) liveOverview(ctx context.Context, p *page) (string, error) {
	if err := s.look(ctx, p); err != nil {
		return "", err
	}
	d, err := s.overviewOf(ctx, p)
	if err != nil {
		return "", err
	}
	return s.fragment(p, "live-overview", d)
}

// liveCounts are the counts beside lists of messages: of the tabs, and of the last days.
func (s *Server) liveCounts(ctx context.Context, p *page) (string, error) {
	list, err := desk.GetMessages.Do(ctx, s.opts.Host, p.account, desk.MessagesRequest{Most: 1})
	if err != nil {
		return "", err
	}
	days, err := s.dayCounts(ctx, p, countedDays, nil)
	if err != nil {
		return "", err
	}
	return s.fragment(p, "live-counts", messagesData{Tabs: messageTabs(p, &list, "", ""), Days: days})
}

// newRow is the row of a message that has just been decided.
func (s *Server) newRow(p *page, d deed) (string, error) {
	row := messageRow{Key: d.Message, Subject: d.Subject, From: d.From, Changes: true, Back: p.URL("messages") + "#m-" + d.Message}
	switch d.Deed {
	case desk.DeedUnsure:
		row.Outcome = "unsure"
	case desk.DeedOrdinary:
		row.Outcome = "ordinary"
	default:
		row.Outcome = "important"
	}
	row.Marked, row.Odds = d.Deed == desk.DeedMarked, odds(row.Outcome, d.Probability)
	row.Arrived, row.Fresh, row.Score, row.Why = &d.at, true, d.Score, why("", row.Outcome, d.Why, nil)
	row.Scale = s.scales.live(p.account, d.Threshold, d.Score)
	if row.Subject == "" {
		row.Subject = subjectOf(desk.Headings{}, d.Message, nil)
	}
	if row.From == "" {
		row.From = fromOf(desk.Headings{}, d.Message, "")
	}
	return s.fragment(p, "live-new", row)
}

// changedRows are the rows of messages about which something was learnt, or whose mark is
// gone.
func (s *Server) changedRows(ctx context.Context, p *page, keys []string) (string, error) {
	if p.status == nil {
		if err := s.look(ctx, p); err != nil {
			return "", err
		}
	}
	list, err := desk.GetMessages.Do(ctx, s.opts.Host, p.account, desk.MessagesRequest{Messages: keys, Most: len(keys)})
	if err != nil || len(list.Messages) == 0 {
		return "", err
	}
	return s.fragment(p, "live-changed", s.changing(p, list, messageRows(list, s.headings(ctx, p, keys), s.scales.of(p.account, list)), p.URL("messages")))
}

// look finds out what the frame of a page shows of its account.
func (s *Server) look(ctx context.Context, p *page) error {
	a, err := desk.GetAccount.Do(ctx, s.opts.Host, p.account, desk.None{})
	if err != nil {
		return err
	}
	p.status = &a
	p.asking = s.asking(ctx, p)
	return nil
}
