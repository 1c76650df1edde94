// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// loginBy is a login as KafkaUser.
func loginBy(m Mechanism) SASL {
	if m == OAuthBearer {
		return SASL{Mechanism: m, Password: func(context.Context) (string, error) { return testkit.KafkaToken(), nil }}
	}
	return SASL{m, testkit.KafkaUser, func(context.Context) (string, error) { return testkit.KafkaPassword, nil }}
}

// The broker ends a connection at the first request after its session unless somebody has
// logged in on it again. A busy machine may be too late for a session as short as that of the
// tests, so it has three tries.
func TestASessionThatEndsCostsNoConnectionAndNoRebalance(t *testing.T) {
	t.Parallel()
	k := testkit.SharedKafka(t)
	for _, mechanism := range []Mechanism{Plain, ScramSHA256, OAuthBearer} {
		t.Run(string(mechanism), func(t *testing.T) {
			t.Parallel()
			var err error
			for range 3 {
				if err = outlive(t, k, mechanism); err == nil {
					return
				}
				t.Log(err)
			}
			t.Error(err)
		})
	}
}

// outlive reads, produces and commits on connections that outlive three sessions, and returns
// what that cost.
func outlive(t *testing.T, k *testkit.Kafka, mechanism Mechanism) error {
	t.Helper()
	var opened atomic.Int32
	b := newBroker(k.LoginAddrs(), k)
	c := b.client(t, 2, func(o *Options) {
		o.SASL = loginBy(mechanism)
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			opened.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	})
	m := join(t, c)
	first := holds(t, 2, []*member{m}, 2)[0]
	r := c.Read(b.topics.Input, TopicID{}, 0, 0)
	defer r.Close()
	n, before := 0, int32(0)
	for began := time.Now(); time.Since(began) < 3*testkit.KafkaSession; n++ {
		if before == 0 && time.Since(began) > testkit.KafkaSession/2 {
			before = opened.Load()
		}
		produce(t, c, b.topics.Input, numbered(n, 1))
		for r.Position() <= int64(n) {
			if _, err := r.Next(t.Context(), 10, 1000); err != nil {
				return fmt.Errorf("message %d: %w", n, err)
			}
		}
	}
	if err := c.CommitOffsets(t.Context(), first, map[int32]int64{0: int64(n)}); err != nil {
		return fmt.Errorf("the generation of the start is over: %w", err)
	}
	// kafka-go wants others by itself, on a busy machine several. Sessions that cost connections
	// cost at least one each of who reads, who produces and the group: nine.
	if more := opened.Load() - before; more > 6 {
		return fmt.Errorf("%d connections were opened anew", more)
	}
	return nil
}

func TestLoginsAndTLS(t *testing.T) {
	t.Parallel()
	k := testkit.SharedKafka(t)
	for name, way := range map[string]struct {
		addrs     []string
		tls       *tls.Config
		mechanism Mechanism
	}{
		"PLAIN":                     {k.LoginAddrs(), nil, Plain},
		"SCRAM-SHA-256":             {k.LoginAddrs(), nil, ScramSHA256},
		"SCRAM-SHA-512":             {k.LoginAddrs(), nil, ScramSHA512},
		"OAUTHBEARER":               {k.LoginAddrs(), nil, OAuthBearer},
		"TLS with OAUTHBEARER":      {k.SecureAddrs(), k.TLSConfig(), OAuthBearer},
		"TLS":                       {k.TLSAddrs(), k.TLSConfig(), NoSASL},
		"TLS with PLAIN":            {k.SecureAddrs(), k.TLSConfig(), Plain},
		"TLS with SCRAM-SHA-512":    {k.SecureAddrs(), k.TLSConfig(), ScramSHA512},
		"the plain-text one, again": {k.Addrs(), nil, NoSASL},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(way.addrs, k)
			with := func(o *Options) {
				o.TLS = way.tls
				if way.mechanism != NoSASL {
					o.SASL = loginBy(way.mechanism)
				}
			}
			c := b.client(t, 2, with)
			produce(t, c, b.topics.Input, numbered(0, 3))
			if got, _ := readAll(t, c, b.topics.Input, 0, 0); values(got) != "0 1 2" {
				t.Errorf("got %q", values(got))
			}
			// The group has connections of another kind.
			m := join(t, c)
			g := holds(t, 2, []*member{m}, 2)[0]
			if err := c.CommitOffsets(t.Context(), g, map[int32]int64{0: 3}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAWrongLoginIsSaidAndNothingOfItIsShown(t *testing.T) {
	t.Parallel()
	k := testkit.SharedKafka(t)
	wrong := func(context.Context) (string, error) { return "hunter2", nil }
	none := func(context.Context) (string, error) { return "", errors.New("no such file") }
	for name, way := range map[string]struct {
		addrs []string
		tls   *tls.Config
		sasl  SASL
	}{
		"a wrong password":         {k.LoginAddrs(), nil, SASL{Plain, testkit.KafkaUser, wrong}},
		"a wrong password, hashed": {k.LoginAddrs(), nil, SASL{ScramSHA256, testkit.KafkaUser, wrong}},
		"a wrong token":            {k.LoginAddrs(), nil, SASL{OAuthBearer, "", wrong}},
		"a wrong user":             {k.SecureAddrs(), k.TLSConfig(), SASL{ScramSHA512, "nobody", wrong}},
		"no password":              {k.LoginAddrs(), nil, SASL{Plain, testkit.KafkaUser, none}},
		"another's certificate":    {k.TLSAddrs(), &tls.Config{MinVersion: tls.VersionTLS12}, SASL{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(way.addrs, k)
			o := b.options()
			o.TLS, o.SASL = way.tls, way.sasl
			c := New(o)
			defer c.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, partitions := c.Partitions(t.Context(), b.topics.Input)
			_, reading := c.Read(b.topics.Input, TopicID{}, 0, 0).Next(t.Context(), 1, 1)
			_, producing := c.Produce(t.Context(), b.topics.Input, numbered(0, 1))
			var group error
			if err := c.Run(ctx, Member{
				Generation: func(context.Context, Generation) { t.Error("it was let in") },
				Problem:    func(err error) { group = err; cancel() },
			}); err != nil {
				t.Error(err)
			}
			for what, err := range map[string]error{"asking": partitions, "reading": reading, "producing": producing, "joining": group} {
				if err == nil || Retryable(err) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%s gave %v, retryable %v", what, err, Retryable(err))
				}
			}
		})
	}
}
