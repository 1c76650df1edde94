// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kafka is a stream of mail of many accounts: where it is, where decisions go,
// and how all of its accounts are judged.
type Kafka struct {
	Brokers  []string `toml:"brokers"` // host:port each, at least one
	Group    string   `toml:"group"`
	ClientID string   `toml:"client_id"`
	TLS      string   `toml:"tls"`
	CAFile   string   `toml:"ca_file,omitempty"`
	CertFile string   `toml:"cert_file,omitempty"` // with KeyFile, or neither
	KeyFile  string   `toml:"key_file,omitempty"`
	SASL     string   `toml:"sasl"`
	Username string   `toml:"username,omitempty"`
	Password          // where the secret is; its keys are in this same table
	// Compression of what hinged produces.
	Compression      string         `toml:"compression"`
	MaxMessageBytes  int            `toml:"max_message_bytes"` // of one record's value, after decompression
	SnapshotEvery    int            `toml:"snapshot_every"`    // records of one partition
	SnapshotInterval Duration       `toml:"snapshot_interval"`
	CreateTopics     bool           `toml:"create_topics"`
	Partitions       int            `toml:"partitions"` // of topics that are created
	Topics           KafkaTopics    `toml:"topics"`
	Judging                         // of all accounts alike
	Accounts         []KafkaAccount `toml:"account,omitempty"`
}

// KafkaTopics are the names of the topics, all different.
type KafkaTopics struct {
	Input       string `toml:"input"`
	Decisions   string `toml:"decisions"`
	DeadLetters string `toml:"dead_letters"`
	Snapshots   string `toml:"snapshots"`
}

// KafkaAccount tells what the records do not tell of an account.
type KafkaAccount struct {
	Key   string   `toml:"key"`   // of its records
	Owner []string `toml:"owner"` // bare addresses, lower case, at least one
}

// DefaultKafka returns the values of the keys that a section [kafka] leaves out.
//
// There may be a hundred thousand accounts: what is kept for each is bounded by time
// and by number, so that its store stops growing. docs/results.md, "What an account keeps",
// has what these bounds save, and what they cost in quality.
func DefaultKafka() Kafka {
	judging := defaultJudging()
	judging.KeepDays, judging.MaxMessages, judging.MaxWeights = 20, 20_000, 1<<17
	judging.Featurize.NamesDays = 3
	// At 20 messages a day this many lessons are full before 30 days, as is what keep_days bounds:
	// what can be taken back is kept for up to 10 days more.
	judging.Learner.Window = 400
	return Kafka{
		Group:            "hinged",
		ClientID:         "hinged",
		TLS:              "tls",
		SASL:             "none",
		Compression:      "gzip",
		MaxMessageBytes:  16 << 20,
		SnapshotEvery:    20_000,
		SnapshotInterval: Duration(10 * time.Minute),
		Partitions:       16,
		Topics: KafkaTopics{
			Input: "hinged.input", Decisions: "hinged.decisions",
			DeadLetters: "hinged.dead-letters", Snapshots: "hinged.snapshots",
		},
		Judging: judging,
	}
}

// OwnerOf returns the addresses from which the owner of the account with a key
// writes: those configured, else the key itself when it is an address, else none.
func (k *Kafka) OwnerOf(key string) []string {
	for i := range k.Accounts {
		if k.Accounts[i].Key == key {
			return k.Accounts[i].Owner
		}
	}
	if isAddress(key) {
		return []string{strings.ToLower(key)}
	}
	return nil
}

// The choices of [kafka], in the order in which messages name them.
var (
	kafkaTLSModes     = []string{"tls", "none"}
	kafkaMechanisms   = []string{"none", "plain", "scram-sha-256", "scram-sha-512", "oauthbearer"}
	kafkaCompressions = []string{"none", "gzip", "snappy", "lz4", "zstd"}
)

const (
	// maxTopicName is Kafka's limit on the length of a topic's name.
	maxTopicName = 249
	// maxKafkaKey bounds the keys of records, in bytes, and so the names of accounts.
	maxKafkaKey = 200
)

func (t table) kafka(k *Kafka) {
	t.brokers(k.Brokers)
	t.word("group", k.Group)
	t.word("client_id", k.ClientID)
	t.choice("tls", k.TLS, kafkaTLSModes)
	t.certificates(k.TLS, &k.CAFile, &k.CertFile, &k.KeyFile)
	t.login(k)
	t.choice("compression", k.Compression, kafkaCompressions)
	t.integer("max_message_bytes", k.MaxMessageBytes, 1024, 256<<20)
	t.integer("snapshot_every", k.SnapshotEvery, 100, 10_000_000)
	t.duration("snapshot_interval", k.SnapshotInterval, time.Second, day)
	t.integer("partitions", k.Partitions, 1, 10_000)
	t.useless(!k.CreateTopics && k.Partitions != DefaultKafka().Partitions, "partitions", "without create_topics = true")
	t.sub("topics").topics(&k.Topics)
	t.judging(&k.Judging, DefaultKafka().Learner)
	keys := map[string]int{}
	list := t.sub("account")
	for i := range k.Accounts {
		at := list.at.elem(i)
		account := table{t.validator, at, lineOf(at, list.at), list.path}
		account.kafkaAccount(&k.Accounts[i], keys)
	}
}

func (t table) brokers(brokers []string) {
	const want = `hosts, with or without a port, such as ["kafka.example.org:9092"]`
	if len(brokers) == 0 {
		t.required("brokers", want)
	}
	list := t.at.kid("brokers")
	for i, broker := range brokers {
		line := lineOf(list.elem(i), list)
		brokers[i] = t.address("brokers", line, broker, 9092, want)
		if slices.Contains(brokers[:i], brokers[i]) {
			t.checkAt(line, "brokers", "is there twice", broker, "each broker once")
		}
	}
}

func (t table) word(key, name string) {
	ok := len(name) >= 1 && len(name) <= maxTopicName
	for _, r := range name {
		ok = ok && r > ' ' && r < 0x7f
	}
	t.check(ok, key, "not a name", name, "1 to 249 plain ASCII characters without spaces")
}

func (t table) login(k *Kafka) {
	t.choice("sasl", k.SASL, kafkaMechanisms)
	if !slices.Contains(kafkaMechanisms, k.SASL) {
		return
	}
	if k.SASL == "none" {
		const because = `with sasl = "none"`
		t.useless(k.Username != "", "username", because)
		for _, key := range k.keys("password") {
			t.useless(true, key, because)
		}
		return
	}
	const want = "the name to log in with"
	if k.SASL == "oauthbearer" {
		t.useless(k.Username != "", "username", `with sasl = "oauthbearer", as the token says who you are`)
	} else if k.Username == "" {
		t.required("username", want)
	}
	t.check(!strings.ContainsFunc(k.Username, unicode.IsControl), "username", "control characters in a name", k.Username, want)
	t.password(&k.Password)
}

func (t table) topics(topics *KafkaTopics) {
	taken := map[string]string{}
	for _, topic := range []struct{ key, name string }{
		{"input", topics.Input}, {"decisions", topics.Decisions}, {"dead_letters", topics.DeadLetters}, {"snapshots", topics.Snapshots},
	} {
		ok := len(topic.name) >= 1 && len(topic.name) <= maxTopicName && topic.name != "." && topic.name != ".."
		for _, r := range topic.name {
			ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
		}
		if !t.check(ok, topic.key, "not the name of a topic", topic.name, `1 to 249 of a-z, A-Z, 0-9, ".", "_" and "-"`) {
			continue
		}
		// To Kafka's metrics a dot and an underscore are the same.
		same := strings.ReplaceAll(topic.name, ".", "_")
		if other, found := taken[same]; found {
			t.check(false, topic.key, "is the topic of "+t.path+other, topic.name, "a topic of its own")
		}
		taken[same] = topic.key
	}
}

func (t table) kafkaAccount(a *KafkaAccount, keys map[string]int) {
	const want = "the key of the account's records: 1 to 200 bytes of UTF-8 without control characters"
	if a.Key == "" && !t.has("key") {
		t.required("key", want)
	} else if ok := a.Key != "" && len(a.Key) <= maxKafkaKey && utf8.ValidString(a.Key) && !strings.ContainsFunc(a.Key, unicode.IsControl); t.check(ok, "key", "not a key", a.Key, want) {
		if first, taken := keys[a.Key]; taken {
			t.check(false, "key", fmt.Sprintf("is that of the account on line %d", first), a.Key, "another key")
		} else {
			keys[a.Key] = t.lineOf("key")
		}
	}
	if len(a.Owner) == 0 {
		t.required("owner", `the addresses that the owner writes from, such as ["me@example.org"]`)
	}
	t.addresses("owner", a.Owner)
}
