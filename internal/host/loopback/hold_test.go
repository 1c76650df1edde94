// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"fmt"
	"net"
	"runtime"
	"testing"
)

// With one in a hundred of the kernel's free ports held, what it gives to others
// is never one of them; and whoever asks for one by number gets it, twice.
func TestAPortThatIsHeldIsGivenToNobodyButItsServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: ports are held on Linux alone")
	}
	const n = 300
	held, err := Hold(n)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	mine := map[int]bool{}
	for _, port := range held.Numbers {
		mine[port] = true
	}
	if len(mine) != n {
		t.Fatalf("%d ports for %d", len(mine), n)
	}
	for range 2000 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if port := l.Addr().(*net.TCPAddr).Port; mine[port] {
			t.Errorf("port %d was given away", port)
		}
		l.Close()
	}
	addr := fmt.Sprint("127.0.0.1:", held.Numbers[0])
	for range 2 {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Error("somebody answers though no server runs")
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatalf("the server does not get its port: %v", err)
		}
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		l.Close()
	}
	held.Release()
	held.Release()
}
