// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

func TestLoginsAndTLS(t *testing.T) {
	k := testkit.SharedKafka(t)
	password := func(context.Context) (string, error) { return testkit.KafkaPassword, nil }
	for name, way := range map[string]struct {
		addrs     []string
		tls       *tls.Config
		mechanism Mechanism
	}{
		"PLAIN":                     {k.LoginAddrs(), nil, Plain},
		"SCRAM-SHA-256":             {k.LoginAddrs(), nil, ScramSHA256},
		"SCRAM-SHA-512":             {k.LoginAddrs(), nil, ScramSHA512},
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
					o.SASL = SASL{way.mechanism, testkit.KafkaUser, password}
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
		"a wrong user":             {k.SecureAddrs(), k.TLSConfig(), SASL{ScramSHA512, "nobody", wrong}},
		"no password":              {k.LoginAddrs(), nil, SASL{Plain, testkit.KafkaUser, none}},
		"another's certificate":    {k.TLSAddrs(), &tls.Config{MinVersion: tls.VersionTLS12}, SASL{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(way.addrs, k)
			o := b.options()
			o.TLS, o.SASL = way.tls, way.sasl
			c, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
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
