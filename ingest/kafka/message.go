package kafka

// Message is mail that arrived: the raw bytes of it (RFC 5322), whatever they
// are. A record without headers of CloudEvents is one too.
type Message struct{ Raw []byte }

// Type is TypeMessage.
func (Message) Type() string { return TypeMessage }

func (m Message) encode() ([]byte, string) { return m.Raw, contentMessage }
