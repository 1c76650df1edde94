// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"fmt"
	"testing"
)

// However many addresses an owner has, they are sorted once, not for each message.
func TestUsingPreparedOptionsAllocatesNothing(t *testing.T) {
	o := DefaultOptions()
	for i := range 1000 {
		o.Owner = append(o.Owner, fmt.Sprintf("Alias%d@Example.org", i))
	}
	p, err := o.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	var f Featurizer
	f.Use(p)
	if n := testing.AllocsPerRun(100, func() { f.Use(p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if m := f.Read([]byte("From: alias999@example.org\n\nx\n")); !m.FromOwner {
		t.Error("the owner's mail is not seen as such")
	}
	f.Use(p.Owned([]string{"b@example.org"}))
	if m := f.Read([]byte("From: alias999@example.org\n\nx\n")); m.FromOwner {
		t.Error("another owner's mail is taken for one's own")
	}
	if _, err := (Options{}).Prepare(); err == nil {
		t.Error("options without limits were taken")
	}
}
