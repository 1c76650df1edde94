// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"fmt"
	"slices"

	"github.com/hinged/hinged/model"
)

// Reader reads a packed vector feature by feature. Not safe for concurrent use.
type Reader struct {
	Head
	Features int // how many there are

	dense bool
	plain plain
	known known
}

// Open begins to read a vector in either form. A dense one needs the vocabulary that it
// was condensed with; for a plain one it may be the zero value. The Reader refers to
// data and the vocabulary as long as it is used. Data that Pack and Condense did not
// make gives an error, here or of End, never a panic.
func Open(data []byte, v Vocabulary) (Reader, error) {
	if !IsDense(data) {
		return openPlain(data)
	}
	return openDense(data, v)
}

// Next returns the next feature, by ascending index; ok is false behind the last one, and
// when something is wrong, which is told by End. Its value is 1 where End hands over the
// values.
func (r *Reader) Next() (f Feature, ok bool) {
	if r.dense {
		return r.known.next()
	}
	return r.plain.next(r.Features)
}

// End checks that the vector is whole, after Next has returned all features, and hands
// their values to fn where Next could not tell them.
func (r *Reader) End(fn func(i int, value uint16)) error {
	if !r.dense {
		return r.plain.end(r.Features, fn)
	}
	if !r.known.end() {
		return fmt.Errorf("%w: its features", errPacked)
	}
	return nil
}

// AppendVector appends to dst the vector whose packed form is data; v is the vocabulary that it
// may have been condensed with. Any other data is an error, never a panic. It allocates nothing
// if dst has room.
func AppendVector(dst model.Vector, data []byte, v Vocabulary) (model.Vector, error) {
	p, err := Open(data, v)
	if err != nil {
		return dst, err
	}
	from := len(dst)
	dst = slices.Grow(dst, 1+p.Features)
	if p.Affine != 0 {
		dst = append(dst, model.Feature{Index: model.Affine, Value: p.Affine})
	}
	first := len(dst)
	for f, ok := p.Next(); ok; f, ok = p.Next() {
		dst = append(dst, model.Feature{Index: f.Index, Value: float64(p.Factors[f.Group] * float64(f.Value))})
	}
	err = p.End(func(i int, value uint16) { dst[first+i].Value = float64(dst[first+i].Value * float64(value)) })
	if err != nil {
		return dst[:from], err
	}
	kept := dst[:first]
	for _, f := range dst[first:] {
		if f.Value != 0 {
			kept = append(kept, f)
		}
	}
	return kept, nil
}
