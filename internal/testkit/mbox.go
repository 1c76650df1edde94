// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"fmt"
	"time"
)

// AppendMbox adds a message to an mbox, with LF line ends.
func AppendMbox(b *bytes.Buffer, raw []byte, at time.Time) {
	fmt.Fprintf(b, "From someone@example.org %s\n", at.UTC().Format(time.ANSIC))
	for line := range bytes.Lines(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))) {
		if bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte("From ")) {
			b.WriteByte('>')
		}
		b.Write(line)
	}
	b.WriteString("\n\n")
}

// Answered is an mbox of n generated messages in which the owner answers the important
// ones, an hour later, and nothing else.
func Answered(n int, seed uint64) (mbox []byte, important int) {
	mail := NewMail(seed)
	var b bytes.Buffer
	for range n {
		m := mail.Next()
		AppendMbox(&b, m.Raw, m.Date)
		if m.Important {
			important++
			answer := mail.Reply(m)
			AppendMbox(&b, answer.Raw, answer.Date)
		}
	}
	return b.Bytes(), important
}
