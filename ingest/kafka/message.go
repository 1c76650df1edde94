// SPDX-License-Identifier: Apache-2.0

package kafka

// Message is mail that arrived: the raw bytes of it (RFC 5322), whatever they
// are. A record without headers of CloudEvents is one too.
type Message struct {
	Raw []byte
	// Sent: the owner sent it, by the word of the platform that produced the record.
	Sent bool
}

// Type is TypeMessage, or TypeSent for mail that the owner sent.
func (m Message) Type() string {
	if m.Sent {
		return TypeSent
	}
	return TypeMessage
}

func (m Message) encode() ([]byte, string) { return m.Raw, contentMessage }
