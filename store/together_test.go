package store

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// bringTogether brings in the states of accounts, all of which are ready to be
// written before the first one is, and returns the error of each and how many
// transactions that took.
func bringTogether(t *testing.T, s *Store, names []string, kept *shelf) (errs map[string]error, transactions int) {
	t.Helper()
	number := func() (id int) {
		if err := s.view(func(tx *bolt.Tx) error { id = tx.ID(); return nil }); err != nil {
			t.Fatal(err)
		}
		return id
	}
	before := number()
	errs = map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	s.together.turn.Lock()
	for _, name := range names {
		all.Go(func() {
			err := s.RestoreState(inbox3, name, kept.get)
			mu.Lock()
			defer mu.Unlock()
			errs[name] = err
		})
	}
	ready := func() int {
		s.together.mu.Lock()
		defer s.together.mu.Unlock()
		return len(s.together.wait)
	}
	for deadline := time.Now().Add(2 * time.Minute); ready() < len(names); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%d of %d accounts wait to be written", ready(), len(names))
			break
		}
	}
	s.together.turn.Unlock()
	all.Wait()
	return errs, number() - before
}

// The disk is waited for once for all accounts that come in at the same time.
func TestAccountsThatComeInAtTheSameTimeShareATransaction(t *testing.T) {
	from, c, kept, m := moving(t, 60)
	there := openTest(t, tempStore(t), testOptions())
	if err := there.BeginRestore(inbox3, m); err != nil {
		t.Fatal(err)
	}
	errs, n := bringTogether(t, there, c.names, kept)
	for name, err := range errs {
		if err != nil {
			t.Errorf("account %s: %v", name, err)
		}
	}
	if len(c.names) < 3 || n != 1 {
		t.Errorf("%d accounts came in with %d transactions, want 1", len(c.names), n)
	}
	for _, name := range c.names {
		if err := there.RestoreLogs(inbox3, name, kept.get); err != nil {
			t.Fatal(err)
		}
	}
	wholeAccounts(t, from, there, c.names)
	closeVerified(t, there)
}

// One of them whose chunks do not make an account takes none of the others along.
func TestAnAccountThatCannotComeInLeavesTheOthersAlone(t *testing.T) {
	from, c, kept, m := moving(t, 60)
	// Without its beginning a state is found to be wrong only once it is written.
	bad := &m.Accounts[1]
	if len(bad.State) < 2 {
		t.Fatalf("the state of %s is one chunk", bad.Account)
	}
	whole := bad.State
	bad.State = whole[1:]
	there := openTest(t, tempStore(t), testOptions())
	if err := there.BeginRestore(inbox3, m); err != nil {
		t.Fatal(err)
	}
	errs, _ := bringTogether(t, there, c.names, kept)
	for _, name := range c.names {
		if err := errs[name]; (name == bad.Account) != errors.Is(err, ErrChunk) || name != bad.Account && err != nil {
			t.Errorf("account %s: %v", name, err)
		}
	}
	info, _, err := there.PartitionInfo(inbox3)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range info.Pending {
		if a.Here == (a.Account == bad.Account) {
			t.Errorf("account %s is here: %v", a.Account, a.Here)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(c.names), func(name string) bool { return name == bad.Account })
	for _, name := range rest {
		if err := there.RestoreLogs(inbox3, name, kept.get); err != nil {
			t.Fatal(err)
		}
	}
	wholeAccounts(t, from, there, rest)
	closeVerified(t, there)
}

// No transaction is larger than the bound because several share it.
func TestASharedTransactionIsBounded(t *testing.T) {
	var shared together
	for _, size := range []int{togetherBytes / 2, togetherBytes / 2, 1, 2 * togetherBytes, togetherBytes, 1} {
		shared.wait = append(shared.wait, &sharer{size: size})
	}
	var got []int
	for len(shared.wait) > 0 {
		got = append(got, len(shared.take()))
	}
	if want := []int{2, 1, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("they are taken %v at a time, want %v", got, want)
	}
}
