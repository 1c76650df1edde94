// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/desk"
)

// TestOneMarkCanBeTakenBack asks for the mark of one message back, by its number in the
// ledger and by its message; all others stay.
func TestOneMarkCanBeTakenBack(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.onMark = func(r ingest.MarkRequest) {
		done := ingest.MarkResult{ID: r.ID, Place: r.Place, Clear: r.Clear, Outcome: ingest.MarkDone}
		if !r.Clear {
			done.Flags = []string{"$important"}
		}
		s.events <- done
	}
	d, _ := start(t, t.TempDir(), s)
	teach(s)
	for n := 3; n <= 5; n++ {
		s.events <- arrival(uint32(n), mail(n, "boss@example.com", fmt.Sprint("urgent thing ", n)))
	}
	until(t, d, "three marks", func(a desk.AccountStatus) bool { return a.MarksConfirmed == 3 })
	ctx := t.Context()
	undo := func(q desk.UndoMarksRequest) desk.UndoneMarks {
		t.Helper()
		u, err := do(ctx, d, desk.UndoMarks, "", q)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	confirmed := func() (out []uint64) {
		t.Helper()
		l, err := do(ctx, d, desk.GetLedger, "", desk.LedgerRequest{State: "confirmed"})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range l.Entries {
			out = append(out, e.Number)
		}
		slices.Sort(out)
		return out
	}
	all := confirmed()
	if len(all) != 3 {
		t.Fatalf("confirmed: %v, want three", all)
	}

	if u := undo(desk.UndoMarksRequest{Numbers: all[1:2], DryRun: true}); u.Undone != 1 || u.Marks[0].Number != all[1] {
		t.Errorf("the dry run says %+v", u)
	}
	if got := confirmed(); len(got) != 3 {
		t.Errorf("the dry run changed something: %v", got)
	}
	if u := undo(desk.UndoMarksRequest{Numbers: all[1:2]}); u.Undone != 1 || len(u.Marks) != 1 {
		t.Errorf("undo said %+v", u)
	}
	if got := confirmed(); !slices.Equal(got, []uint64{all[0], all[2]}) {
		t.Errorf("confirmed after undo of %d: %v", all[1], got)
	}
	if u := undo(desk.UndoMarksRequest{Numbers: all[1:2]}); len(u.Marks) != 0 {
		t.Errorf("undone again: %+v", u)
	}
	// Another message has the Message-ID of the third: a key means its own message alone.
	twin := mail(5, "crook@example.net", "another text")
	s.events <- arrival(6, twin)
	key, err := desk.KeyOf(twin, len(twin))
	if err != nil {
		t.Fatal(err)
	}
	until(t, d, "the other message", func(desk.AccountStatus) bool {
		_, err := do(ctx, d, desk.GetLedger, "", desk.LedgerRequest{Message: key[:8]})
		return err == nil
	})
	if u := undo(desk.UndoMarksRequest{Message: key}); len(u.Marks) != 0 {
		t.Errorf("undo by the key of an unmarked message said %+v", u)
	}
	if l, err := do(ctx, d, desk.GetLedger, "", desk.LedgerRequest{Message: key}); err != nil || len(l.Entries) > 0 || !strings.Contains(l.Verdict, "did not mark it") {
		t.Errorf("the ledger says of an unmarked message %+v, %v", l, err)
	}
	if u := undo(desk.UndoMarksRequest{Message: "m5@x"}); u.Undone != 1 || len(u.Marks) != 1 || u.Marks[0].Number != all[2] {
		t.Errorf("undo of a message said %+v", u)
	}
	// A message without marks has none to take back, and that is not all of them.
	if u := undo(desk.UndoMarksRequest{Message: "m2@x"}); len(u.Marks) != 0 {
		t.Errorf("undo of a message without marks said %+v", u)
	}
	if u := undo(desk.UndoMarksRequest{Message: "m5@x", Numbers: all[:1]}); len(u.Marks) != 0 {
		t.Errorf("undo of a message and of another's entry said %+v", u)
	}
	if got := confirmed(); !slices.Equal(got, all[:1]) {
		t.Errorf("confirmed at the end: %v, want %v", got, all[:1])
	}
	if _, err := do(ctx, d, desk.UndoMarks, "", desk.UndoMarksRequest{Numbers: []uint64{99}}); !errors.Is(err, desk.ErrNoEntry) {
		t.Errorf("an entry that is not there: %v", err)
	}
	if _, err := do(ctx, d, desk.UndoMarks, "", desk.UndoMarksRequest{Message: "0123456789"}); !errors.Is(err, desk.ErrNoMessage) {
		t.Errorf("a message that is not known: %v", err)
	}
	if v, err := do(ctx, d, desk.Verify, "", desk.VerifyRequest{}); err != nil || !v.OK {
		t.Errorf("verify: %+v, %v", v, err)
	}
}
