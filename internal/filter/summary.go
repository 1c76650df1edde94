// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/hinged/hinged/store"
)

// summary is what derive would gather from all rows of a checkpoint. It lies beside them (see
// store.State.Summarise), so that an account that is loaded for one message need not have them
// all read; what changed since the checkpoint is entered. What a filter derives with a summary
// and without one is the same.
//
// Written down it is a byte for the version; the numbers, the count of labelled and that of
// recent scores as uvarints; the slots of the scores of either window in order, in pointSize
// bytes each; and the messages in order of Seq, as appendTo writes them.
type summary struct {
	standing         Standing
	judged           Standing
	labelled, recent []byte
	messages         []byte
}

// summaryVersion is that of the summaries that this version writes. Others are passed over.
// It changes with whatever derive gathers or how that is counted.
const summaryVersion = 4

// numbers are those that a summary has.
func (s *summary) numbers() (out []*int) {
	for _, one := range []*Standing{&s.standing, &s.judged} {
		d, c := &one.Decisions, &one.Correspondents
		out = append(out, &one.Labels, &one.Important, &one.Mistakes,
			&d.Hits, &d.FalseAlarms, &d.Missed, &c.Hits, &c.FalseAlarms, &c.Missed)
	}
	return out
}

// summarise returns the summary of the state, all rows of which lie packed; nil if one of them
// is damaged. What the filter has at hand of it need not be gathered.
func (f *Filter) summarise() []byte {
	all := make([]queued, f.st.Messages.Based())
	least, most := uint64(math.MaxUint64), uint64(0)
	for i := range all {
		m, ok := f.st.Messages.BasedAt(i)
		if !ok {
			return nil
		}
		all[i] = queuedOf(store.MessageKey{}, &m)
		least, most = min(least, m.Seq), max(most, m.Seq)
	}
	s := summary{standing: f.standing, judged: f.judged}
	labelled, recent := f.labelled.sorted, f.recent.sorted
	out := make([]byte, 0, 100+pointSize*(len(labelled)+len(recent))+7*len(all))
	out = append(out, summaryVersion)
	for _, n := range s.numbers() {
		out = binary.AppendUvarint(out, uint64(*n))
	}
	out = binary.AppendUvarint(out, uint64(len(labelled)))
	out = binary.AppendUvarint(out, uint64(len(recent)))
	out = appendPoints(appendPoints(out, labelled), recent)
	last := uint64(0)
	for _, i := range inOrder(all, least, most) {
		out = all[i].appendTo(out, int(i), last)
		last = all[i].seq
	}
	return out
}

// takeSummary returns the summary beside the checkpoint that st was loaded from; nil if there
// is none, or none that fits.
func takeSummary(st *store.State) *summary {
	data := st.TakeSummary()
	if len(data) == 0 || data[0] != summaryVersion {
		return nil
	}
	data = data[1:]
	s := new(summary)
	for _, n := range s.numbers() {
		v, ok := takeNumber(&data)
		if !ok {
			return nil
		}
		*n = v
	}
	labelled, ok := takeNumber(&data)
	recent, too := takeNumber(&data)
	if !ok || !too || len(data) < pointSize*(labelled+recent) {
		return nil
	}
	s.labelled, data = data[:pointSize*labelled], data[pointSize*labelled:]
	s.recent, s.messages = data[:pointSize*recent], data[pointSize*recent:]
	if !namesEach(s.messages, st.Messages.Based()) || !isOrder(s.labelled, st.Labelled) || !isOrder(s.recent, st.Recent) {
		return nil
	}
	return s
}

// takeNumber takes a uvarint, which must fit an int, off the front of data.
func takeNumber(data *[]byte) (int, bool) {
	v, n := binary.Uvarint(*data)
	if n <= 0 || v > math.MaxInt32 {
		return 0, false
	}
	*data = (*data)[n:]
	return int(v), true
}

// namesEach reports whether messages, as a summary has them, names each of so many rows once.
func namesEach(messages []byte, rows int) bool {
	seen := make([]uint64, (rows+63)/64)
	n := 0
	for ; len(messages) > 0; n++ {
		place, _, size := queuedFrom(messages)
		if size == 0 || place >= rows || seen[place/64]>>(place%64)&1 != 0 {
			return false
		}
		seen[place/64] |= 1 << (place % 64)
		messages = messages[size:]
	}
	return n == rows
}

// isOrder reports whether slots, as a summary has them, are some of those that a ring had in
// the checkpoint, each once.
func isOrder(slots []byte, ring *store.Ring) bool {
	var seen [windowSize/64 + 1]uint64
	for ; len(slots) > 0; slots = slots[pointSize:] {
		slot := binary.LittleEndian.Uint16(slots)
		if int(slot) >= min(windowSize, ring.Based()) || seen[slot/64]>>(slot%64)&1 != 0 {
			return false
		}
		seen[slot/64] |= 1 << (slot % 64)
	}
	return true
}

// complete reports whether what was derived with a summary has as many entries as the state.
func (f *Filter) complete() bool {
	return len(f.labelled.sorted) == f.st.Labelled.Len() && f.standing.Labels == f.st.Labelled.Len() &&
		len(f.recent.sorted) == f.st.Recent.Len() && len(f.oldest.keys) == f.st.Messages.Len()
}

// pointSize is how many bytes a score has.
const pointSize = 2

func appendPoints(dst []byte, points []point) []byte {
	for i := range points {
		dst = binary.LittleEndian.AppendUint16(dst, points[i].Slot)
	}
	return dst
}

// window returns newWindow(ring, each), if each is called with what each was called with for
// the entries of the checkpoint: it is called with 1 for those that came since, and with -1 for
// those that are gone.
func (s *summary) window(ring *store.Ring, slots []byte, each func(*store.Scored, int)) *window {
	var now []point
	ring.Since(func(_ uint32, e store.Scored) { each(&e, -1) }, func(slot uint32, e store.Scored) {
		each(&e, 1)
		now = append(now, pointOf(slot, &e))
	})
	now = sorted(now)
	out := make([]point, 0, ring.Len()+1)
	for ; len(slots) > 0; slots = slots[pointSize:] {
		slot := uint32(binary.LittleEndian.Uint16(slots))
		e, inForce := ring.BasedAt(slot)
		if !inForce {
			continue
		}
		p := pointOf(slot, &e)
		for len(now) > 0 && comparePoints(now[0], p) <= 0 {
			out, now = append(out, now[0]), now[1:]
		}
		out = append(out, p)
	}
	return &window{ring: ring, sorted: append(out, now...)}
}

// What the byte of a message in a summary says besides its Outcome.
const (
	summaryWaits   = 1 << 3
	summaryPending = 1 << 4
	summaryQuiet   = 5 // how far its Quiet is shifted
)

// appendTo appends what a summary has of a message: its number among those of the checkpoint in
// 4 bytes, how much greater its Seq is than the one before (uvarint), a byte of what it
// waits for, and if that is silence, its SilenceFrom (uvarint).
func (m *queued) appendTo(dst []byte, place int, last uint64) []byte {
	flags := byte(m.out) | byte(m.quiet)<<summaryQuiet
	if m.from > 0 {
		flags |= summaryWaits
	}
	if m.pending {
		flags |= summaryPending
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(place))
	dst = append(binary.AppendUvarint(dst, m.seq-last), flags)
	if m.from > 0 {
		dst = binary.AppendUvarint(dst, uint64(m.from))
	}
	return dst
}

// queuedFrom reads what appendTo wrote, in size bytes; 0 if it is malformed. The seq of m is
// how much greater it is than the one before, and pending of no since.
func queuedFrom(src []byte) (place int, m queued, size int) {
	if len(src) < 6 {
		return 0, m, 0
	}
	more, n := binary.Uvarint(src[4:])
	if n <= 0 || len(src) < 5+n {
		return 0, m, 0
	}
	flags := src[4+n]
	m = queued{
		seq: more, out: store.Outcome(flags & (summaryWaits - 1)),
		quiet: store.Quiet(flags >> summaryQuiet), pending: flags&summaryPending != 0,
	}
	if size = 5 + n; flags&summaryWaits != 0 {
		from, n := binary.Uvarint(src[size:])
		if n <= 0 || from == 0 || from > math.MaxUint32 {
			return 0, m, 0
		}
		m.from, size = uint32(from), size+n
	}
	return int(binary.LittleEndian.Uint32(src)), m, size
}

// bySeq is what bySeq yields of messages. It calls count with 1 for those that came since the
// checkpoint, and with -1 for those that are gone.
func (s *summary) bySeq(messages *store.Table[store.Message], count func(*store.Message, int)) iter.Seq[*queued] {
	var now []queued
	messages.Since(func(m *store.Message) { count(m, -1) }, func(key []byte, m *store.Message) {
		count(m, 1)
		now = append(now, queuedOf(store.MessageKey(key), m))
	})
	slices.SortFunc(now, func(a, b queued) int { return cmp.Compare(a.seq, b.seq) })
	return func(yield func(*queued) bool) {
		seq, m := uint64(0), queued{}
		for at := 0; at < len(s.messages); {
			place, read, size := queuedFrom(s.messages[at:])
			seq, at = seq+read.seq, at+size
			key, inForce := messages.BasedKey(place)
			if !inForce {
				continue
			}
			for len(now) > 0 && now[0].seq < seq {
				if !yield(&now[0]) {
					return
				}
				now = now[1:]
			}
			m = read
			m.key, m.seq = store.MessageKey(key), seq
			if m.quiet == store.QuietHours || m.quiet == store.QuietDays || m.pending {
				row, _ := messages.BasedAt(place)
				m.at, m.since = quietSince(&row), row.Pending.Since
			}
			if !yield(&m) {
				return
			}
		}
		for i := range now {
			if !yield(&now[i]) {
				return
			}
		}
	}
}
