// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"go/ast"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestNoTwoFieldsShareANumber: rows and events are stored with numbers for their fields.
// Two fields of one struct with one number are both left out by the encoder, without a
// word.
func TestNoTwoFieldsShareANumber(t *testing.T) {
	structs := 0
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			fields, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			taken := map[string]bool{}
			for _, f := range fields.Fields.List {
				if f.Tag == nil {
					continue
				}
				text, err := strconv.Unquote(f.Tag.Value)
				if err != nil {
					t.Fatal(err)
				}
				number, options, _ := strings.Cut(reflect.StructTag(text).Get("cbor"), ",")
				if !strings.Contains(options, "keyasint") {
					continue
				}
				if taken[number] {
					t.Errorf("%s: another field has the number %s", s.at(f), number)
				}
				taken[number] = true
			}
			if len(taken) > 0 {
				structs++
			}
			return true
		})
	}
	if structs < 20 {
		t.Errorf("found %d structs with numbered fields: the test looks at the wrong ones", structs)
	}
}
