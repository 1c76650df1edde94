// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// bringTogether brings in accounts, all of which are ready to be
// written before the first one is, and returns the error of each and how many
// transactions that took.
func bringTogether(t *testing.T, c carrier, names []string) (errs map[string]error, transactions int) {
	t.Helper()
	f := c.to.file
	number := func() (id int) {
		if err := f.view(func(tx *bolt.Tx) error { id = tx.ID(); return nil }); err != nil {
			t.Fatal(err)
		}
		return id
	}
	before := number()
	errs = map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	f.group.turn.Lock()
	for _, name := range names {
		all.Go(func() {
			err := c.bring(name)
			mu.Lock()
			defer mu.Unlock()
			errs[name] = err
		})
	}
	ready := func() int {
		f.group.mu.Lock()
		defer f.group.mu.Unlock()
		return len(f.group.wait)
	}
	for deadline := time.Now().Add(2 * time.Minute); ready() < len(names); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%d of %d accounts wait to be written", ready(), len(names))
			break
		}
	}
	f.group.turn.Unlock()
	all.Wait()
	return errs, number() - before
}

// The disk is waited for once for all accounts that come in at the same time.
func TestAccountsThatComeInAtTheSameTimeShareATransaction(t *testing.T) {
	from, crowd := settled(t, 60)
	c := carrier{from: from, to: openTest(t, storetest.TempStore(t), testOptions())}
	c.begin(t)
	errs, n := bringTogether(t, c, crowd.Names)
	for name, err := range errs {
		if err != nil {
			t.Errorf("account %s: %v", name, err)
		}
	}
	if len(crowd.Names) < 3 || n != 1 {
		t.Errorf("%d accounts came in with %d transactions, want 1", len(crowd.Names), n)
	}
	for _, name := range crowd.Names {
		if err := c.bring(name); err != nil {
			t.Fatal(err)
		}
	}
	crowd.Compare(t, c.to)
}

// One of them whose chunks do not make an account takes none of the others along.
func TestAnAccountThatCannotComeInLeavesTheOthersAlone(t *testing.T) {
	from, crowd := settled(t, 60)
	// Without one of its entries an account is found to be wrong only once it is written.
	c := carrier{from: from, to: openTest(t, storetest.TempStore(t), testOptions()), loses: crowd.Names[1]}
	c.begin(t)
	errs, _ := bringTogether(t, c, crowd.Names)
	for _, name := range crowd.Names {
		if err := errs[name]; (name == c.loses) != errors.Is(err, store.ErrChunk) || name != c.loses && err != nil {
			t.Errorf("account %s: %v", name, err)
		}
	}
	info, err := c.to.PartitionInfo()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(info.Pending, []string{c.loses}) {
		t.Errorf("still to come are %q", info.Pending)
	}
	c.loses = ""
	for _, name := range crowd.Names {
		if err := c.bring(name); err != nil {
			t.Fatal(err)
		}
	}
	crowd.Compare(t, c.to)
}

// No transaction is larger than the bound because several share it.
func TestASharedTransactionIsBounded(t *testing.T) {
	var shared groupCommit
	for _, size := range []int{groupBytes / 2, groupBytes / 2, 1, 2 * groupBytes, groupBytes, 1} {
		shared.wait = append(shared.wait, &groupMember{size: size})
	}
	var got []int
	for len(shared.wait) > 0 {
		got = append(got, len(shared.take()))
	}
	if want := []int{2, 1, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("they are taken %v at a time, want %v", got, want)
	}
}
