// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"io"
	"strconv"

	"github.com/hinged/hinged/model"
)

// Writer writes labelled vectors in svmlight's format, one a line. Features are numbered
// from 1 in order of first appearance, since other tools do not take 64-bit numbers; the
// affine coordinate is always 1. Values are written so that reading them gives the same bits.
type Writer struct {
	w       *bufio.Writer
	numbers map[model.Index]uint64
	line    []byte
}

// NewWriter returns a Writer; Flush ends its work.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: bufio.NewWriter(w), numbers: map[model.Index]uint64{model.Affine: 1}}
}

// Write writes one lesson; its weight, where that is not 1, as "cost".
func (w *Writer) Write(e model.Lesson) error {
	b := append(w.line[:0], "+1"...)
	if e.Label == model.Ordinary {
		b[0] = '-'
	}
	if e.Weight != 1 {
		b = append(b, " cost:"...)
		b = strconv.AppendFloat(b, e.Weight, 'g', -1, 64)
	}
	// svmlight wants ascending numbers.
	x := make(model.Vector, len(e.Vector))
	for i, f := range e.Vector {
		n, ok := w.numbers[f.Index]
		if !ok {
			n = uint64(len(w.numbers) + 1)
			w.numbers[f.Index] = n
		}
		x[i] = model.Feature{Index: model.Index(n), Value: f.Value}
	}
	x.Sort()
	for _, f := range x {
		b = append(b, ' ')
		b = strconv.AppendUint(b, uint64(f.Index), 10)
		b = append(b, ':')
		b = strconv.AppendFloat(b, f.Value, 'g', -1, 64)
	}
	w.line = append(b, '\n')
	_, err := w.w.Write(w.line)
	return err
}

// Flush writes what is left.
func (w *Writer) Flush() error { return w.w.Flush() }
