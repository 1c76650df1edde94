// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// scripts/setup.sh runs this one with HINGED_FETCH=1, to have it fetched before
// any test waits for it, and to know whether it can be.
func TestKafkaIsFetched(t *testing.T) {
	jars, err := kafkaJars()
	if err != nil && os.Getenv("HINGED_FETCH") == "1" {
		t.Fatal(err)
	}
	if err != nil {
		NeedKafka(t)
	}
	found, err := filepath.Glob(filepath.Join(jars, "kafka_*.jar"))
	if err != nil || len(found) != 1 {
		t.Errorf("got %q, %v in %s, want Kafka's jar", found, err, jars)
	}
}

func TestABrokerKeepsItsPortsOverKillAndPause(t *testing.T) {
	began := time.Now()
	k := StartKafka(t, KafkaOptions{})
	t.Logf("started in %v", time.Since(began))
	addrs := k.Addrs()
	k.Pause(0)
	k.Continue(0)
	k.Kill(0)
	if conn, err := net.Dial("tcp", addrs[0]); err == nil {
		conn.Close()
		t.Error("it answers though it was killed")
	}
	began = time.Now()
	k.Start(0)
	t.Logf("started again in %v", time.Since(began))
	for _, addr := range [][]string{addrs, k.LoginAddrs(), k.TLSAddrs(), k.SecureAddrs()} {
		conn, err := net.Dial("tcp", addr[0])
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	began = time.Now()
	k.Stop(0)
	t.Logf("stopped in %v", time.Since(began))
}
