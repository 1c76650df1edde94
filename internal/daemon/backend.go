package daemon

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/writer"
	"github.com/hinged/hinged/store"
)

// Backend answers the verbs that look at state: the running daemon, through its
// socket, or the store itself when none runs. An empty account name means the
// only account there is.
type Backend interface {
	Status(ctx context.Context) (Status, error)
	Digests(ctx context.Context) ([]Digest, error)
	// Explain takes a Message-ID, or the hexadecimal key of a message or the
	// beginning of one, at least 8 digits.
	Explain(ctx context.Context, account, message string) (Explanation, error)
	// ExplainMail takes a raw message, which need not be known.
	ExplainMail(ctx context.Context, account string, raw []byte) (Explanation, error)
	Classify(ctx context.Context, account string, raw []byte) (Classified, error)
	Verify(ctx context.Context) (Verified, error)
	// Bound compares the mistakes of an account's lesson log with their ceiling.
	Bound(ctx context.Context, account string) (Bound, error)

	// Ledger shows marks that were set or meant to be set, and refusals.
	Ledger(ctx context.Context, account string, q LedgerQuery) (Ledger, error)
	// Words shows weights.
	Words(ctx context.Context, account string, q WordsQuery) (Words, error)
	// Ask finds the messages whose labels would teach most.
	Ask(ctx context.Context, account string, q AskQuery) (Asked, error)
	// Prior returns what the accounts together would give a new one to begin with.
	Prior(ctx context.Context) (Prior, error)
	// Pause switches an account off, durably: no connection, no mark, no lesson.
	Pause(ctx context.Context, account string) (Switched, error)
	// Resume ends a pause; the account catches up as after having been away.
	Resume(ctx context.Context, account string) (Switched, error)
	// Undo takes marks back that hinged set and that still stand, and waits until
	// the server has confirmed that, or for a while.
	Undo(ctx context.Context, account string, u Undo) (Undone, error)
	// Unlearn takes back what was learnt since a time. ErrTooEarly: the lessons do
	// not reach back so far.
	Unlearn(ctx context.Context, account string, u Unlearn) (Unlearned, error)
	// Forget takes a message, a sender or a time out of what the account remembers,
	// and out of the store's file. ErrTooEarly as Unlearn.
	Forget(ctx context.Context, account string, f Forget) (Forgotten, error)
	// Learn gives messages a label, in order. What is wrong with one of them is
	// said in its Lesson and stops none of the others. ErrPaused: the account
	// learns nothing now.
	Learn(ctx context.Context, account string, t Teach) (Lessons, error)
	// Backup writes a copy of the whole store to w, as of the last commit. What
	// was written before an error is of no use.
	Backup(ctx context.Context, w io.Writer) error
	// Export writes an export of one account to w; see store.Export.
	Export(ctx context.Context, account string, w io.Writer) error
	// Compact writes the store's file anew without its free pages.
	Compact(ctx context.Context) (Compacted, error)
	Close() error
}

// ErrNoAccount is wrapped when an account is named that does not exist, or none
// is named where there are several.
var ErrNoAccount = errors.New("no such account")

// ErrNoMessage is wrapped when a message is asked for that is not known.
var ErrNoMessage = errors.New("no such message")

// ErrPaused is wrapped when a paused account is asked to learn.
var ErrPaused = errors.New("the account is paused")

func findMessage(st *store.State, message string) (store.MessageKey, error) {
	id := bytes.Trim([]byte(message), "<> \t\r\n")
	if known, ok := st.IDs.Get(store.ID(xxhash.Sum64(id)).Key()); ok && known.Message != (store.MessageKey{}) {
		return known.Message, nil
	}
	if len(message) >= 8 && len(message) <= 32 {
		if prefix, err := hex.DecodeString(message[:len(message)&^1]); err == nil {
			var found []string
			for _, k := range st.Messages.Keys() {
				if bytes.HasPrefix([]byte(k), prefix) {
					found = append(found, k)
				}
			}
			if len(found) == 1 {
				return store.MessageKey([]byte(found[0])), nil
			}
			if len(found) > 1 {
				return store.MessageKey{}, fmt.Errorf("%w: %s begins the keys of %d messages; give more digits", ErrNoMessage, message, len(found))
			}
		}
	}
	return store.MessageKey{}, fmt.Errorf("%w: %s is neither a Message-ID nor the key of a known message", ErrNoMessage, message)
}

// replay compares an account's committed digest with that of a replay of the
// journal entries from the base up to, but not including, end.
func replay(s *store.Store, account string, now Digest, end uint64) VerifiedReplay {
	out := VerifiedReplay{Account: account, State: now, End: end}
	fail := func(err error) VerifiedReplay {
		if errors.Is(err, store.ErrPending) {
			return VerifiedReplay{Account: account, State: now, Replayed: Digest{Account: account}, InSnapshot: true}
		}
		out.Problem = err.Error()
		return out
	}
	base, next, err := s.Base(account)
	if err != nil {
		return fail(err)
	}
	out.From = next
	entries := func(yield func(store.JournalEntry, error) bool) {
		for e, err := range s.Journal(account, next) {
			if err == nil && e.Seq >= end {
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
	f, err := filter.Replay(base, entries, writer.NewReplayVectors(s, account))
	if err != nil {
		return fail(err)
	}
	out.Replayed.Account = account
	out.Replayed.Model, out.Replayed.State = store.Digest(f.State())
	out.Equal = out.Replayed == out.State
	return out
}
