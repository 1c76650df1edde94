// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// KafkaOptions configure StartKafka. The zero value is one broker.
type KafkaOptions struct {
	// Brokers is how many there are; each is a Java machine of its own. Only the
	// first decides who leads a partition, so it must not be stopped for long.
	// 0: as many as HINGED_KAFKA_BROKERS says, or one. From three on, each record is on
	// three of them, and two must have it.
	Brokers int
	// Authorizer has the brokers ask what a user may do (KIP-801's StandardAuthorizer).
	// Whoever comes without a login, at Addrs and TLSAddrs, may do everything;
	// KafkaUser may do what Allow says.
	Authorizer bool
}

// Kafka is a running cluster of Apache Kafka, in KRaft mode, on loopback. Topics
// are not created by themselves. Its data is gone with the test, or with the
// package's tests when it is shared.
type Kafka struct {
	*kafkaCluster
	tb testing.TB
}

// The users of the listeners that ask who one is, by every mechanism.
const (
	KafkaUser     = "hinged"
	KafkaPassword = "let me in"
)

// KafkaSession is how long a login holds at LoginAddrs.
const KafkaSession = 2 * time.Second

// KafkaToken returns an access token of KafkaUser for OAUTHBEARER. It has no signature, as
// brokers take by default.
func KafkaToken() string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	now := time.Now().Unix()
	return part(`{"alg":"none"}`) + "." + part(fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, KafkaUser, now-60, now+3600)) + "."
}

// NeedKafka skips the test where Apache Kafka cannot be had.
func NeedKafka(tb testing.TB) {
	tb.Helper()
	_, err := kafkaJars()
	Need(tb, err)
}

// StartKafka starts a cluster of its own for this test. It is stopped when the
// test ends.
func StartKafka(tb testing.TB, o KafkaOptions) *Kafka {
	tb.Helper()
	NeedKafka(tb)
	if o.Brokers == 0 {
		o.Brokers = FromEnv("HINGED_KAFKA_BROKERS", 1)
	}
	c, err := newKafkaCluster(o.Brokers, o.Authorizer)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.close(); err != nil {
			tb.Error(err)
		}
	})
	k := &Kafka{c, tb}
	for i := range c.brokers {
		k.Start(i)
	}
	return k
}

// shared is the cluster of SharedKafka, of one broker.
var shared struct {
	sync.Mutex
	cluster *kafkaCluster
}

// SharedKafka returns the one broker that all tests of a package use, and starts
// it for the first of them. What a test stops is started again after it. The
// package's TestMain must call StopSharedKafka.
func SharedKafka(tb testing.TB) *Kafka {
	tb.Helper()
	NeedKafka(tb)
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		c, err := newKafkaCluster(1, false)
		if err != nil {
			tb.Fatal(err)
		}
		if err := c.brokers[0].start(); err != nil {
			tb.Error(c.close())
			tb.Fatal(err)
		}
		shared.cluster = c
	}
	k := &Kafka{shared.cluster, tb}
	tb.Cleanup(func() {
		k.Continue(0)
		k.Start(0)
	})
	return k
}

// StopSharedKafka stops what SharedKafka started, if anything.
func StopSharedKafka() {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		if err := shared.cluster.close(); err != nil {
			panic(err)
		}
		shared.cluster = nil
	}
}

// Addrs are the brokers' addresses in clear, without a login.
func (k *Kafka) Addrs() []string { return k.addrs(listenPlain) }

// LoginAddrs are the brokers' addresses in clear, with a login as KafkaUser.
func (k *Kafka) LoginAddrs() []string { return k.addrs(listenLogin) }

// TLSAddrs are the brokers' addresses with TLS, without a login.
func (k *Kafka) TLSAddrs() []string { return k.addrs(listenTLS) }

// SecureAddrs are the brokers' addresses with TLS and a login.
func (k *Kafka) SecureAddrs() []string { return k.addrs(listenSecure) }

// TLSConfig trusts the brokers.
func (k *Kafka) TLSConfig() *tls.Config {
	return &tls.Config{RootCAs: k.roots, MinVersion: tls.VersionTLS12}
}

// Start starts a broker that does not run, on its ports and with its data, and
// waits until it answers.
func (k *Kafka) Start(broker int) {
	k.tb.Helper()
	if err := k.brokers[broker].start(); err != nil {
		k.tb.Fatal(err)
	}
}

// Stop stops a broker in its own way: leaders move first, logs are closed.
func (k *Kafka) Stop(broker int) {
	k.tb.Helper()
	if err := k.brokers[broker].end(syscall.SIGTERM, stopPatience); err != nil {
		k.tb.Fatal(err)
	}
}

// Kill ends a broker as a power failure does.
func (k *Kafka) Kill(broker int) {
	k.tb.Helper()
	if err := k.brokers[broker].end(syscall.SIGKILL, killPatience); err != nil {
		k.tb.Fatal(err)
	}
}

// Restart stops a broker and starts it again.
func (k *Kafka) Restart(broker int) {
	k.tb.Helper()
	k.Stop(broker)
	k.Start(broker)
}

// Pause makes a broker stand still: it keeps its connections and says nothing.
func (k *Kafka) Pause(broker int) {
	k.tb.Helper()
	if err := k.brokers[broker].pause(); err != nil {
		k.tb.Fatal(err)
	}
}

// Continue ends Pause. It may be called without one.
func (k *Kafka) Continue(broker int) {
	k.tb.Helper()
	if err := k.brokers[broker].resume(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		k.tb.Fatal(err)
	}
}

// Allow gives KafkaUser a right on a topic or a group of that name, in a cluster with
// an Authorizer.
func (k *Kafka) Allow(on kafkago.ResourceType, name string, right kafkago.ACLOperationType) {
	k.tb.Helper()
	c := &kafkago.Client{Addr: kafkago.TCP(k.Addrs()...), Transport: new(kafkago.Transport)}
	res, err := c.CreateACLs(context.Background(), &kafkago.CreateACLsRequest{ACLs: []kafkago.ACLEntry{{
		ResourceType: on, ResourceName: name, ResourcePatternType: kafkago.PatternTypeLiteral,
		Principal: "User:" + KafkaUser, Host: "*", Operation: right, PermissionType: kafkago.ACLPermissionTypeAllow,
	}}})
	if err == nil {
		err = errors.Join(res.Errors...)
	}
	if err != nil {
		k.tb.Fatal(err)
	}
}
