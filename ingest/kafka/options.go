// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"
)

// Mechanism is how to log in to a broker.
type Mechanism string

// The mechanisms.
const (
	NoSASL      Mechanism = ""              // not at all, the default
	Plain       Mechanism = "plain"         // RFC 4616; the password goes over the wire, so use TLS
	ScramSHA256 Mechanism = "scram-sha-256" // RFC 7677
	ScramSHA512 Mechanism = "scram-sha-512" // RFC 5802 with SHA-512
	OAuthBearer Mechanism = "oauthbearer"   // RFC 7628; the password is the token, there is no username
)

// Compression is how record batches are compressed when produced, but for snapshots,
// which are compressed already. What is read may be compressed in any way.
type Compression string

// The compressions.
const (
	None   Compression = "none"
	Gzip   Compression = "gzip" // the default: every client reads it
	Snappy Compression = "snappy"
	LZ4    Compression = "lz4"
	Zstd   Compression = "zstd"
)

// SASL says who we are. The zero value logs nobody in.
type SASL struct {
	Mechanism Mechanism
	Username  string
	// Password is asked at every login, so that a changed file or a new token is found.
	Password func(ctx context.Context) (string, error)
}

// Topics are the names of the topics that we use.
type Topics struct {
	Input       string // messages, feedback and the rest, keyed by account; required
	Decisions   string // required
	DeadLetters string // required
	Snapshots   string // compacted, as many partitions as Input; required
}

// All returns the names that are set, in the order of the fields.
func (t Topics) All() []string {
	var all []string
	for _, name := range []string{t.Input, t.Decisions, t.DeadLetters, t.Snapshots} {
		if name != "" {
			all = append(all, name)
		}
	}
	return all
}

// Options configure a Client. The zero value of a field means its default. The configuration,
// from which they come, is what says what is wrong with them.
type Options struct {
	Brokers  []string // host:port each, at least one
	ClientID string   // "hinged"
	Group    string   // the consumer group; "hinged"
	Topics   Topics

	// Settings stand for all that a member of the group decides by, in any words: members tell
	// each other a digest of it. "" compares with nobody's.
	Settings string

	TLS  *tls.Config // nil: in clear. ServerName is filled in
	SASL SASL

	Compression Compression // gzip

	// MaxRecord is the largest value of a record that is handed on, in bytes after
	// decompression; 16 MiB. Of a larger one only the size is told.
	MaxRecord int
	// FetchBytes is how much one request asks for, before decompression; 1 MiB. A
	// broker sends at least one batch, however large.
	FetchBytes int
	// BatchBytes is how much goes into one produced batch, before compression;
	// 900,000. A broker's own limit for a batch (message.max.bytes) is 1,048,588
	// unless it was changed, and counts after compression.
	BatchBytes int
	// MaxWait is how long a broker may hold back the answer to a fetch when there is
	// nothing new; 250 ms. A reader that is told to stop waits for that answer: with more
	// than 300 ms a member can miss a rebalance and be thrown out of the group.
	MaxWait time.Duration

	// RequestTimeout bounds every request; 10 s. A broker that stands still is
	// noticed after this.
	RequestTimeout time.Duration
	// MetadataAge is how old what we know of topics and leaders may become; 3 s. A
	// new leader is found within it.
	MetadataAge time.Duration

	// SessionTimeout is after how long without a sign of life a member of the group
	// loses its partitions; 10 s. Brokers allow 6 s to 30 min by default.
	SessionTimeout time.Duration
	// HeartbeatInterval is how often a sign of life is sent, and so how soon a
	// member learns that it must give its partitions back; 1 s.
	HeartbeatInterval time.Duration
	// RebalanceTimeout is how long the group waits for its members when partitions
	// are dealt out anew; 10 s.
	RebalanceTimeout time.Duration
	// JoinBackoff is the pause before joining again after an error; 500 ms.
	JoinBackoff time.Duration

	Logger *slog.Logger // nil discards
	// Dial opens the TCP connection; a net.Dialer with a 5 second timeout.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// withDefaults returns o with every default filled in.
func (o Options) withDefaults() Options {
	orDefault(&o.ClientID, "hinged")
	orDefault(&o.Group, "hinged")
	orDefault(&o.Compression, Gzip)
	orDefault(&o.MaxRecord, 16<<20)
	orDefault(&o.FetchBytes, 1<<20)
	orDefault(&o.BatchBytes, 900_000)
	orDefault(&o.MaxWait, 250*time.Millisecond)
	orDefault(&o.RequestTimeout, 10*time.Second)
	orDefault(&o.MetadataAge, 3*time.Second)
	orDefault(&o.SessionTimeout, 10*time.Second)
	orDefault(&o.HeartbeatInterval, time.Second)
	orDefault(&o.RebalanceTimeout, 10*time.Second)
	orDefault(&o.JoinBackoff, 500*time.Millisecond)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	}
	return o
}
