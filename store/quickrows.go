// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"

	"github.com/hinged/hinged/model"
)

// The rows of which an account has many, as rowReader reads them. Rows of which there are
// few are left to DecodeRow. A field that is missing here makes a row slow to load, not
// wrong; TestEveryRowOfWhichThereAreManyIsReadQuickly finds it.

func (r *rowReader) label() model.Label { return model.Label(r.int(math.MaxInt8)) }

func (s *Sender) quick(r *rowReader) {
	f := r.fields()
	for number := f.next(r); number != 0; number = f.next(r) {
		switch number {
		case 1:
			s.Received = r.uint32()
		case 2:
			s.Answered = r.uint32()
		case 3:
			s.Written = r.uint32()
		case 4:
			s.Seq = r.uint64()
		case 10:
			s.Lessons = r.uint32()
		case 11:
			s.Uncounted = r.bool()
		case 12, 13, 14, 15, 16:
			*s.Handled(Handling(number - 11)) = r.uint32()
		case 17:
			s.Home = r.id()
		case 18:
			s.Firm = r.bool()
		default:
			r.unknown()
		}
	}
}

func (t *Thread) quick(r *rowReader) {
	f := r.fields()
	for number := f.next(r); number != 0; number = f.next(r) {
		switch number {
		case 1:
			t.Messages = r.uint32()
		case 2:
			t.ByOwner = r.uint32()
		case 3:
			t.Answered = r.uint32()
		case 4:
			t.Since = r.uint32()
		case 5:
			t.Seq = r.uint64()
		default:
			r.unknown()
		}
	}
}

func (k *KnownID) quick(r *rowReader) {
	f := r.fields()
	for number := f.next(r); number != 0; number = f.next(r) {
		switch number {
		case 1:
			k.Thread = r.id()
		case 2:
			k.Sender = r.id()
		case 3:
			k.Message = r.message()
		case 4:
			k.Seq = r.uint64()
		case 5:
			k.Own = r.bool()
		case 6:
			k.Answered = r.bool()
		case 7:
			k.Doubtful = r.bool()
		case 8:
			k.Credited = r.id()
		default:
			r.unknown()
		}
	}
}

func (p *Pending) quick(r *rowReader) {
	f := r.fields()
	for number := f.next(r); number != 0; number = f.next(r) {
		switch number {
		case 1:
			p.Label = r.label()
		case 2:
			p.Source = Source(r.uint8())
		case 3:
			p.Since = r.moment()
		case 4:
			p.Single = r.bool()
		case 5:
			p.Batch = r.id()
		case 6:
			p.Back = r.bool()
		default:
			r.unknown()
		}
	}
}

func (m *Message) quick(r *rowReader) {
	f := r.fields()
	for number := f.next(r); number != 0; number = f.next(r) {
		switch number {
		case 1:
			m.Seq = r.uint64()
		case 2:
			m.ID = r.id()
		case 3:
			m.Sender = r.id()
		case 4:
			m.Arrived = r.moment()
		case 5:
			m.Outcome = Outcome(r.uint8())
		case 6:
			m.Score = r.float()
		case 7:
			m.Threshold = r.float()
		case 8:
			m.Label = r.label()
		case 9:
			m.Source = Source(r.uint8())
		case 10:
			m.Pending.quick(r)
		case 11:
			m.Reason = Reason(r.uint8())
		case 12:
			m.SilenceFrom = r.uint32()
		case 13:
			m.Role = r.uint8()
		case 14:
			m.Copies = r.uint32()
		case 15:
			m.Own = r.bool()
		case 16:
			m.Quiet = Quiet(r.uint8())
		default:
			m.quickMore(number, r)
		}
	}
}

func (m *Message) quickMore(number uint64, r *rowReader) {
	switch number {
	case 71:
		m.Probability = float32(r.float())
	case 17:
		m.Seen = r.bool()
	case 18:
		m.Replayed = r.uint64()
	case 19:
		m.Claimed = r.bool()
	case 20:
		m.Above = r.bool()
	case 21:
		m.Correspondent = r.bool()
	case 30:
		m.Lessons = r.uint32()
	case 31:
		m.Unlearnt = r.label()
	case 32:
		m.LeftAlone = r.bool()
	case 60:
		m.Rule = model.Index(r.uint64())
	case 61:
		m.Vouched = r.bool()
	case 62:
		m.Topic = r.id()
	case 63:
		m.Personal = r.bool()
	case 65:
		m.Together = r.bool()
	case 66:
		m.ReadAt = r.moment()
	case 64:
		m.Handled = Handling(r.uint8())
	case 67:
		m.Lookalike = r.bool()
	case 68:
		m.Domain = r.id()
	case 69:
		m.Passed = r.bool()
	case 70:
		m.Heard = r.texts()
	case 72:
		m.Foreign = r.bool()
	default:
		r.unknown()
	}
}

func (p *Place) quick(r *rowReader) {
	f := r.fields()
	for number := f.next(r); number != 0; number = f.next(r) {
		switch number {
		case 1:
			p.Message = r.message()
		case 2:
			p.Flags = r.texts()
		case 3:
			p.Own = r.texts()
		case 4:
			p.Letter = r.id()
		default:
			r.unknown()
		}
	}
}

func (w *Windowed) quick(r *rowReader) {
	f := r.fields()
	for number := f.next(r); number != 0; number = f.next(r) {
		switch number {
		case 1:
			w.Message = r.message()
		case 2:
			w.Label = r.label()
		case 3:
			w.Weight = r.float()
		case 4:
			w.Alpha = r.float()
		default:
			r.unknown()
		}
	}
}
