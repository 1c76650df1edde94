// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// streamCase is a configuration with a section [kafka], and how it is checked.
type streamCase struct {
	brokers []string
	more    string // lines of [kafka]
	cert    string // PEM of ca_file; "": no TLS
	account string // as in Checker

	patience time.Duration // 0: more than any machine needs
	password string        // in the file password; "": tulip
	// store makes the store at a path; nil: there is none.
	store func(t *testing.T, path string)
}

// run checks and returns the findings, a line each.
func (s streamCase) run(t *testing.T) (Report, string, error) {
	t.Helper()
	dir := t.TempDir()
	testkit.OK(t, os.Chmod(dir, 0o700))
	text := fmt.Sprintf("state_dir = 'state'\nsocket = 'socket'\n[kafka]\nbrokers = ['%s']\n", strings.Join(s.brokers, "', '"))
	if s.cert == "" {
		text += "tls = 'none'\n"
	} else {
		text += "ca_file = 'ca.pem'\n"
	}
	for name, data := range map[string]string{"hinged.toml": text + s.more, "ca.pem": s.cert, "password": cmp.Or(s.password, "tulip") + "\n"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	conf, err := config.Load(filepath.Join(dir, "hinged.toml"))
	testkit.OK(t, err)
	if s.patience == 0 {
		s.patience = time.Minute
	}
	if s.store != nil {
		s.store(t, filepath.Join(conf.StateDir, "hinged.db"))
	}
	ch := &Checker{
		Path: "hinged.toml", Config: conf, StorePath: filepath.Join(conf.StateDir, "hinged.db"), Account: s.account, Patience: s.patience,
		Kafka: func(k *config.Kafka) (kafka.Options, error) {
			// kafka-go waits no longer than MetadataAge for an answer about topics.
			o := kafka.Options{Brokers: k.Brokers, Group: k.Group, Topics: kafka.Topics(k.Topics), MetadataAge: time.Minute}
			if k.SASL != "none" {
				o.SASL = kafka.SASL{Mechanism: kafka.Mechanism(k.SASL), Username: k.Username, Password: k.ReadPassword}
			}
			if s.cert == "broken" {
				return o, errors.New("ca.pem holds no certificate in PEM form")
			}
			if s.cert != "" {
				roots := x509.NewCertPool()
				roots.AppendCertsFromPEM([]byte(s.cert))
				o.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
			}
			return o, nil
		},
	}
	r, err := ch.Run(t.Context())
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, f.String())
	}
	found := strings.Join(lines, "\n")
	if strings.Contains(found, "tulip") {
		t.Errorf("the password is shown: %s", found)
	}
	return r, found, err
}

// finds fails unless the findings hold a line for each pattern.
func (s streamCase) finds(t *testing.T, ok bool, patterns ...string) {
	t.Helper()
	r, found, err := s.run(t)
	testkit.OK(t, err)
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)^" + p).MatchString(found) {
			t.Errorf("want %s in\n%s", p, found)
		}
	}
	if r.OK != ok {
		t.Errorf("got OK %v, want %v:\n%s", r.OK, ok, found)
	}
}

// cluster starts a broker in this process.
func cluster(t *testing.T, o ...kfake.Opt) []string {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, o...)...)
	testkit.OK(t, err)
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

// topic creates a topic: its name, and settings in pairs.
func topic(t *testing.T, brokers []string, partitions int, name string, settings ...string) {
	t.Helper()
	config := kafkago.TopicConfig{Topic: name, NumPartitions: partitions, ReplicationFactor: -1}
	for i := 0; i < len(settings); i += 2 {
		config.ConfigEntries = append(config.ConfigEntries, kafkago.ConfigEntry{ConfigName: settings[i], ConfigValue: settings[i+1]})
	}
	c := &kafkago.Client{Addr: kafkago.TCP(brokers...), Transport: new(kafkago.Transport)}
	res, err := c.CreateTopics(t.Context(), &kafkago.CreateTopicsRequest{Topics: []kafkago.TopicConfig{config}})
	if err == nil {
		err = res.Errors[name]
	}
	testkit.OK(t, err)
}

// good creates the four topics as they should be, except those named.
func good(t *testing.T, brokers []string, except ...string) {
	t.Helper()
	d := config.DefaultKafka().Topics
	for _, name := range []string{d.Input, d.Decisions, d.DeadLetters, d.Snapshots} {
		if slices.Contains(except, name) {
			continue
		}
		switch name {
		case d.Snapshots:
			topic(t, brokers, 4, name, cleanupPolicy, "compact")
		case d.DeadLetters:
			topic(t, brokers, 4, name, maxMessageBytes, "1114124")
		default:
			topic(t, brokers, 4, name)
		}
	}
}

func TestAllIsWellWithKafka(t *testing.T) {
	t.Parallel()
	brokers := cluster(t)
	good(t, brokers)
	s := streamCase{brokers: brokers}
	all := []string{
		`OK    config: hinged.toml is valid: Kafka$`,
		`OK    kafka: connect: 127.0.0.1:\d+: reached$`,
		`OK    kafka: login: the brokers answer; nobody is to log in$`,
		`OK    kafka: topics: there are hinged.input \(4 partitions\), .*hinged.snapshots \(4 partitions\)$`,
		`OK    kafka: partitions: `, `OK    kafka: compaction: hinged.snapshots is compacted$`,
		`OK    kafka: retention: hinged.input keeps records for 7d, and a snapshot is made every 10m$`,
		`OK    kafka: rights: we may read hinged.input, read hinged.snapshots, write hinged.decisions, write hinged.dead-letters, write hinged.snapshots, write hinged.input$`,
		`OK    kafka: group: hinged has no positions yet; 0 records wait$`,
	}
	s.finds(t, true, all...)
	s.account = "kafka"
	s.finds(t, true, all...)

	s.account = "you"
	if _, _, err := s.run(t); !errors.Is(err, desk.ErrNoAccount) || !strings.Contains(err.Error(), "you is not one of kafka") {
		t.Errorf("got %v, want that you is not one of kafka", err)
	}

	// Nothing was written.
	c := &kafkago.Client{Addr: kafkago.TCP(brokers...), Transport: new(kafkago.Transport)}
	for _, name := range []string{"hinged.input", "hinged.decisions", "hinged.dead-letters", "hinged.snapshots"} {
		res, err := c.ListOffsets(t.Context(), &kafkago.ListOffsetsRequest{Topics: map[string][]kafkago.OffsetRequest{name: {kafkago.LastOffsetOf(0)}}})
		testkit.OK(t, err)
		if end := res.Topics[name][0].LastOffset; end != 0 {
			t.Errorf("%s has %d records in partition 0, want none", name, end)
		}
	}
}

func TestTopicsThatAreMissingOrUnfit(t *testing.T) {
	t.Parallel()
	// All are good but one, which is so.
	but := func(partitions int, name string, settings ...string) func(*testing.T, []string) {
		return func(t *testing.T, brokers []string) {
			good(t, brokers, name)
			topic(t, brokers, partitions, name, settings...)
		}
	}
	for _, tt := range []struct {
		name   string
		topics func(t *testing.T, brokers []string)
		more   string
		ok     bool
		want   []string
	}{
		{"none is there", func(*testing.T, []string) {}, "", false, []string{
			`FAIL  kafka: topics: the topic hinged.input \(input\) is not there.* Fix: create_topics = true, or kafka-topics.sh --bootstrap-server 127.0.0.1:\d+ --create --topic hinged.input --partitions 16$`,
			`FAIL  kafka: topics: the topic hinged.snapshots .* --partitions 16 --config cleanup.policy=compact$`,
		}},
		{"none is there and they are to be made", func(*testing.T, []string) {}, "create_topics = true\npartitions = 3", true, []string{
			`OK    kafka: topics: hinged.input will be created at the first start, with 3 partitions$`,
		}},
		{"one is missing", func(t *testing.T, b []string) { good(t, b, "hinged.dead-letters") }, "", false, []string{
			`FAIL  kafka: topics: the topic hinged.dead-letters \(dead_letters\) is not there.* --partitions 4$`, `OK    kafka: rights: `,
		}},
		{"snapshots have another number of partitions", but(3, "hinged.snapshots", cleanupPolicy, "compact"), "", false, []string{`FAIL  kafka: partitions: hinged.input has 4 partitions and hinged.snapshots has 3: .* Fix: use another topic`}},
		{"snapshots are deleted", but(4, "hinged.snapshots"), "", false, []string{`FAIL  kafka: compaction: hinged.snapshots has cleanup.policy=delete: .* --alter --topic hinged.snapshots --add-config cleanup.policy=compact$`}},
		{"the input is compacted", but(4, "hinged.input", cleanupPolicy, "compact"), "", false, []string{`FAIL  kafka: compaction: hinged.input is compacted: of each account only its last record is kept\. Fix: `}},
		{"decisions are compacted", but(4, "hinged.decisions", cleanupPolicy, "compact"), "", true, []string{`WARN  kafka: compaction: hinged.decisions is compacted`}},
		{"the input is kept for a day", but(4, "hinged.input", retentionMillis, "86400000"), "", true, []string{`WARN  kafka: retention: hinged.input keeps records for 1d: .* Fix: .*retention.ms=604800000$`}},
		{"the input is kept for less than two snapshots", but(4, "hinged.input", retentionMillis, "86400000"), "snapshot_interval = '13h'", false, []string{`FAIL  kafka: retention: hinged.input keeps records for 1d, and a snapshot is made every 13h: `}},
		{"the input is kept for ever", but(4, "hinged.input", retentionMillis, "-1"), "", true, []string{`OK    kafka: retention: hinged.input keeps its records for ever$`}},
		{"the input is kept up to a size", but(4, "hinged.input", retentionMillis, "-1", retentionBytes, "1000000"), "", true, []string{`WARN  kafka: retention: hinged.input keeps its records for ever, and at most 1000000 bytes of each partition`}},
		{"snapshots take small records alone", but(4, "hinged.snapshots", cleanupPolicy, "compact", maxMessageBytes, "100000"), "", false, []string{`FAIL  kafka: size: hinged.snapshots takes records of 100000 bytes at most`}},
		{"the input takes greater records than the dead letters", but(4, "hinged.input", maxMessageBytes, "8000000"), "", true, []string{`WARN  kafka: size: hinged.dead-letters takes records of 1114124 bytes at most, hinged.input of 8000000: .* --add-config max.message.bytes=8065536$`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			brokers := cluster(t)
			tt.topics(t, brokers)
			streamCase{brokers: brokers, more: tt.more}.finds(t, tt.ok, tt.want...)
		})
	}
}

func TestTheWayToKafkaIsBarred(t *testing.T) {
	t.Parallel()
	const gone = "127.0.0.1:1"
	t.Run("nobody listens", func(t *testing.T) {
		streamCase{brokers: []string{gone}}.finds(t, false, `FAIL  kafka: connect: no broker can be reached: .*refused\. Fix: correct brokers`)
	})
	t.Run("one of two listens", func(t *testing.T) {
		brokers := cluster(t)
		good(t, brokers)
		streamCase{brokers: append([]string{gone}, brokers...)}.finds(t, true, `WARN  kafka: connect: 127.0.0.1:\d+: reached; but .*refused\. Fix: `)
	})
	t.Run("the certificate is another's", func(t *testing.T) {
		_, other := certificate(t)
		pair, own := certificate(t)
		brokers := cluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}), kfake.SeedTopics(2, "hinged.input"))
		streamCase{brokers: brokers, cert: own}.finds(t, false, `OK    kafka: login: the brokers answer; nobody is to log in$`)
		streamCase{brokers: brokers, cert: other}.finds(t, false, `FAIL  kafka: tls: .* Fix: set ca_file to `)
	})
	t.Run("TLS and nobody expects it", func(t *testing.T) {
		_, own := certificate(t)
		streamCase{patience: 3 * time.Second, brokers: cluster(t), cert: own}.finds(t, false, `FAIL  kafka: login: .* Fix: see whether tls and sasl `)
	})
	t.Run("no TLS where it is expected", func(t *testing.T) {
		pair, _ := certificate(t)
		streamCase{brokers: cluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}))}.finds(t, false, `FAIL  kafka: login: .* wants TLS`)
	})
	t.Run("files that are no certificates", func(t *testing.T) {
		streamCase{brokers: cluster(t), cert: "broken"}.finds(t, false, `FAIL  kafka: tls: ca.pem holds no certificate in PEM form\. Fix: correct ca_file`)
	})
	t.Run("another password", func(t *testing.T) {
		brokers := cluster(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "hinged", "rose"))
		streamCase{brokers: brokers, more: "sasl = 'scram-sha-512'\nusername = 'hinged'\npassword_file = 'password'"}.finds(t, false,
			`OK    kafka: password: .*/password can be read only by its owner$`, `FAIL  kafka: login: .* Fix: .*username and password`)
	})
	t.Run("no password", func(t *testing.T) {
		streamCase{brokers: []string{gone}, more: "sasl = 'plain'\nusername = 'hinged'\npassword_file = 'none'"}.finds(t, false, `FAIL  kafka: password: .*no such file`)
	})
}

// certificate makes one for this machine that signs itself.
func certificate(t *testing.T) (pair tls.Certificate, text string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testkit.OK(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	testkit.OK(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestRightsOnKafka(t *testing.T) {
	t.Parallel()
	allow := func(of kmsg.ACLResourceType, name string, operation kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: of, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true}
	}
	topicRight := func(name string, operation kmsg.ACLOperation) kfake.ACL {
		return allow(kmsg.ACLResourceTypeTopic, name, operation)
	}
	least := []kfake.ACL{
		topicRight("hinged.input", kmsg.ACLOperationRead), topicRight("hinged.snapshots", kmsg.ACLOperationRead), topicRight("hinged.snapshots", kmsg.ACLOperationWrite),
		topicRight("hinged.decisions", kmsg.ACLOperationWrite), topicRight("hinged.dead-letters", kmsg.ACLOperationWrite),
		allow(kmsg.ACLResourceTypeGroup, "hinged", kmsg.ACLOperationRead),
	}
	for _, tt := range []struct {
		name string
		acls []kfake.ACL
		ok   bool
		want []string
	}{
		{"the least that is needed", least, true, []string{
			`OK    kafka: login: the brokers answer; as hinged$`,
			`WARN  kafka: retention: how long topics keep records cannot be told: .* Fix: give us the right DescribeConfigs`,
			`WARN  kafka: rights: we may not write hinged.input, so hinged learn cannot send lessons there\. Fix: kafka-acls.sh .* --allow-principal User:hinged --operation Write --topic hinged.input$`,
			`OK    kafka: rights: we may read hinged.input, `, `OK    kafka: group: `,
		}},
		{"not of the group", least[:len(least)-1], false, []string{`FAIL  kafka: group: .* Fix: kafka-acls.sh .* --operation Read --group hinged$`}},
		{"snapshots are for reading alone", slices.Delete(slices.Clone(least), 2, 3), false, []string{`FAIL  kafka: rights: we may not write hinged.snapshots\. Fix: `}},
		{"none", nil, false, []string{`FAIL  kafka: topics: we may not even see hinged.input .* --operation Describe --topic hinged.input, `}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			brokers := cluster(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "admin", "admin"),
				kfake.User("SCRAM-SHA-256", "hinged", "tulip", tt.acls...),
				kfake.SeedTopics(2, "hinged.input", "hinged.decisions", "hinged.dead-letters", "hinged.snapshots"))
			streamCase{brokers: brokers, more: "sasl = 'scram-sha-256'\nusername = 'hinged'\npassword_file = 'password'"}.finds(t, tt.ok, tt.want...)
		})
	}
}
