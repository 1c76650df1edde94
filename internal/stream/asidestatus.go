// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// SetAside is an account whose records wait until those of the other accounts are done.
type SetAside struct {
	Account string `json:"account"` // name of the account
	Records int64  `json:"records"` // number of its records that were passed over and wait, part of the lag
}

// aside returns what a status shows of the accounts of a position that are set aside.
func aside(at *store.LogPosition) (all []SetAside) {
	for _, a := range at.Aside {
		all = append(all, SetAside{a.Account, a.Records})
	}
	return all
}

// Later is how many records wait because their accounts are set aside.
func (p *PartitionStatus) Later() (n int64) {
	for _, a := range p.SetAside {
		n += a.Records
	}
	return n
}

// Stored is the status of a partition as far as the store alone knows it.
func Stored(info *boltfile.PartitionInfo, damaged []string) PartitionStatus {
	at := &info.LogPosition
	s := PartitionStatus{Partition: info.Partition.Number, Position: at.Whole(), End: -1, Restoring: len(info.Pending), SetAside: aside(at), next: at.Next}
	s.damaged(damaged)
	return s
}

// damaged notes the damaged files of the partition.
func (p *PartitionStatus) damaged(files []string) {
	if n := len(files); n > 0 {
		p.DamagedFile = files[n-1]
	}
}

// shownAside is how many accounts that are set aside are named in a sentence.
const shownAside = 5

// Behind names in words the accounts that are set aside, those with the most records first,
// and how many records of each wait; "" if none is.
func (s *Status) Behind() string {
	var all []SetAside
	for i := range s.Partitions {
		all = append(all, s.Partitions[i].SetAside...)
	}
	slices.SortFunc(all, func(a, b SetAside) int {
		return cmp.Or(cmp.Compare(b.Records, a.Records), strings.Compare(a.Account, b.Account))
	})
	var names []string
	for _, a := range all[:min(len(all), shownAside)] {
		names = append(names, fmt.Sprintf("%s (%d records)", a.Account, a.Records))
	}
	text := strings.Join(names, ", ")
	if more := len(all) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// aside says how many accounts are set aside; "" if none is.
func (s *Status) aside() string {
	n := 0
	for i := range s.Partitions {
		n += len(s.Partitions[i].SetAside)
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 account is set aside"
	}
	return fmt.Sprintf("; %d accounts are set aside", n)
}
