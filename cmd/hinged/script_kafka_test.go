package main

import (
	"fmt"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kfake"
)

// kafkaServer is a broker inside the test: kafka file. It appends a section
// [kafka] to that file, and sets $KAFKA.
func kafkaServer() func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: kafka file")
		}
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		ts.Check(err)
		ts.Defer(c.Close)
		address := c.ListenAddrs()[0]
		ts.Setenv("KAFKA", address)
		f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		ts.Check(err)
		_, err = fmt.Fprintf(f, "[kafka]\nbrokers = [%q]\ntls = \"none\"\ncreate_topics = true\npartitions = 2\n", address)
		ts.Check(err)
		ts.Check(f.Close())
	}
}
