// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/hinged/hinged/internal/host/loopback"
)

// The listeners of a broker, in the order of their ports.
const (
	listenPlain = iota
	listenLogin
	listenTLS
	listenSecure
	listenController
	listeners
)

var listenerNames = [listeners]string{"PLAIN", "LOGIN", "TLS", "SECURE", "CONTROLLER"}

// kafkaCluster is some brokers that know of each other. Its methods are not safe
// for concurrent use, but for those of different brokers.
type kafkaCluster struct {
	dir     string
	jars    string
	brokers []*kafkaBroker
	roots   *x509.CertPool
	ports   *loopback.Ports
	// authorizer: brokers ask what a user may do.
	authorizer bool
}

func (c *kafkaCluster) addrs(listener int) []string {
	var out []string
	for _, b := range c.brokers {
		out = append(out, b.addr(listener))
	}
	return out
}

// newKafkaCluster makes the directories and settings of brokers; it starts none.
func newKafkaCluster(n int, authorizer bool) (*kafkaCluster, error) {
	jars, err := kafkaJars()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kafka")
	if err != nil {
		return nil, err
	}
	c := &kafkaCluster{dir: dir, jars: jars, roots: x509.NewCertPool(), authorizer: authorizer}
	cert, key, err := loopback.Certificate()
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.roots.AppendCertsFromPEM(cert)
	for name, data := range map[string][]byte{"tls.pem": append(cert, key...), "log4j2.properties": []byte(logSettings)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	if c.ports, err = loopback.Hold(n * listeners); err != nil {
		return nil, errors.Join(err, c.close())
	}
	for i := range n {
		b := &kafkaBroker{cluster: c, id: i + 1, dir: filepath.Join(dir, strconv.Itoa(i+1))}
		copy(b.ports[:], c.ports.Numbers[i*listeners:])
		c.brokers = append(c.brokers, b)
	}
	for _, b := range c.brokers {
		if err := b.format(); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// close stops all brokers and removes their data.
func (c *kafkaCluster) close() error {
	var errs []error
	for _, b := range c.brokers {
		// Nothing is kept, so there is nothing to close in order.
		errs = append(errs, b.end(syscall.SIGKILL, killPatience))
	}
	c.ports.Release()
	return errors.Join(append(errs, os.RemoveAll(c.dir))...)
}

const logSettings = `rootLogger.level = warn
rootLogger.appenderRefs = out
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %m (%c{1})%n%throwable
`

// settings are a broker's server.properties. Everything that waits by default
// for the sake of large clusters does not wait here.
func (b *kafkaBroker) settings() string {
	var s strings.Builder
	set := func(key, value string) { fmt.Fprintf(&s, "%s=%s\n", key, value) }
	controller := b.cluster.brokers[0]
	set("node.id", strconv.Itoa(b.id))
	set("controller.quorum.voters", fmt.Sprintf("%d@%s", controller.id, controller.addr(listenController)))
	set("controller.listener.names", listenerNames[listenController])
	set("inter.broker.listener.name", listenerNames[listenPlain])
	open := listenerNames[:listenController]
	roles := "broker"
	if b == controller {
		open, roles = listenerNames[:], "broker,controller"
	}
	set("process.roles", roles)
	var listen, advertise []string
	for i, name := range open {
		listen = append(listen, name+"://"+b.addr(i))
		if i != listenController {
			advertise = append(advertise, name+"://"+b.addr(i))
		}
	}
	set("listeners", strings.Join(listen, ","))
	set("advertised.listeners", strings.Join(advertise, ","))
	set("listener.security.protocol.map", "PLAIN:PLAINTEXT,LOGIN:SASL_PLAINTEXT,TLS:SSL,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT")
	set("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER")
	for _, name := range []string{"login", "secure"} {
		set("listener.name."+name+".plain.sasl.jaas.config",
			`org.apache.kafka.common.security.plain.PlainLoginModule required user_`+KafkaUser+`="`+KafkaPassword+`";`)
		for _, scram := range []string{"scram-sha-256", "scram-sha-512"} {
			set("listener.name."+name+"."+scram+".sasl.jaas.config",
				"org.apache.kafka.common.security.scram.ScramLoginModule required;")
		}
		// Tokens without a signature, as KafkaToken makes them.
		set("listener.name."+name+".oauthbearer.sasl.jaas.config",
			`org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="`+KafkaUser+`";`)
	}
	if b.cluster.authorizer {
		set("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")
		// Brokers, and tests, come to the plain listeners without a name.
		set("super.users", "User:ANONYMOUS")
	}
	// Sessions are short, so that clients have to log in again within a test.
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512", "oauthbearer"} {
		set("listener.name.login."+mechanism+".connections.max.reauth.ms", strconv.FormatInt(KafkaSession.Milliseconds(), 10))
	}
	set("ssl.keystore.type", "PEM")
	set("ssl.keystore.location", filepath.Join(b.cluster.dir, "tls.pem"))
	set("log.dirs", filepath.Join(b.dir, "data"))
	set("auto.create.topics.enable", "false")
	set("num.network.threads", "2")
	set("num.io.threads", "2")
	set("num.partitions", "1")
	copies, inSync := "1", "1"
	if len(b.cluster.brokers) >= 3 {
		copies, inSync = "3", "2" // one may go
	}
	set("default.replication.factor", copies)
	set("min.insync.replicas", inSync)
	for _, topic := range []string{"offsets.topic", "transaction.state.log", "share.coordinator.state.topic"} {
		set(topic+".replication.factor", copies)
		set(topic+".num.partitions", "1")
	}
	set("transaction.state.log.min.isr", inSync)
	set("share.coordinator.state.topic.min.isr", inSync)
	set("group.initial.rebalance.delay.ms", "0")
	set("broker.session.timeout.ms", strconv.FormatInt(fenceAfter.Milliseconds(), 10))
	set("broker.heartbeat.interval.ms", "500")
	set("controlled.shutdown.enable", "true")
	// Compaction as fast as it goes, with the least memory.
	set("log.cleaner.backoff.ms", "100")
	set("log.cleaner.dedupe.buffer.size", "4194304")
	set("log.segment.delete.delay.ms", "0")
	// The mail of the tests has dates of long ago, by which a broker would delete
	// it. A topic's own setting comes too late: records that are written before
	// the broker has heard of it may be gone.
	set("log.retention.ms", "-1")
	set("log.retention.check.interval.ms", "200")
	set("log.initial.task.delay.ms", "200")
	return s.String()
}

// format writes the settings and makes the data directory.
func (b *kafkaBroker) format() error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	properties := filepath.Join(b.dir, "server.properties")
	if err := os.WriteFile(properties, []byte(b.settings()), 0o600); err != nil {
		return err
	}
	// What is made depends on the arguments alone, and takes a Java machine seconds.
	// So it is kept beside the jars.
	args := []string{"format", "-t", "aGluZ2VkLXRlc3Qta2Fma2", "-c", properties}
	for _, scram := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		args = append(args, "--add-scram", scram+`=[name=`+KafkaUser+`,password="`+KafkaPassword+`"]`)
	}
	data := filepath.Join(b.dir, "data")
	kept := fmt.Sprintf("%s-data-%d-%08x", b.cluster.jars, b.id, crc32.ChecksumIEEE([]byte(strings.Join(args[5:], " "))))
	if _, err := os.Stat(kept); err == nil {
		return os.CopyFS(data, os.DirFS(kept))
	}
	if out, err := exec.CommandContext(context.Background(), "java", b.cluster.java("kafka.tools.StorageTool", args...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("format the data of broker %d: %w\n%s", b.id, err, out)
	}
	part, err := os.MkdirTemp(filepath.Dir(kept), "data")
	if err == nil {
		err = os.CopyFS(part, os.DirFS(data))
	}
	if err != nil {
		return fmt.Errorf("keep the data of broker %d: %w", b.id, err)
	}
	if os.Rename(part, kept) != nil { // another test was faster
		return os.RemoveAll(part)
	}
	return nil
}

// java returns the arguments that start a class of Kafka quickly.
func (c *kafkaCluster) java(class string, args ...string) []string {
	return append([]string{
		"-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto",
		"-Dlog4j2.configurationFile=" + filepath.Join(c.dir, "log4j2.properties"),
		"-cp", filepath.Join(c.jars, "*"), class,
	}, args...)
}
