// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is read anew when its files change: whoever renews it every few weeks need
// not restart hinged. It is safe for concurrent use.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu       sync.Mutex
	changed  [2]time.Time // of the files when they were read
	last     *tls.Certificate
	reported bool // that the files could not be read
}

func newCertificate(cert, key string, log *slog.Logger) (*certificate, error) {
	c := &certificate{cert: cert, key: key, log: log}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// read reads the files if they are others than before.
func (c *certificate) read() error {
	var changed [2]time.Time
	for i, name := range []string{c.cert, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		changed[i] = info.ModTime()
	}
	if c.last != nil && changed == c.changed {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", c.cert, c.key, err)
	}
	c.last, c.changed = &pair, changed
	return nil
}

// get is tls.Config.GetCertificate. Files that can't be read leave the last certificate in
// use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.read()
	if err != nil && !c.reported {
		c.log.Error("the dashboard's certificate can't be read anew; the last one stays in use", "error", err)
	}
	c.reported = err != nil
	return c.last, nil
}

// names reports whether the certificate in use is for a host. c may be nil.
func (c *certificate) names(host string) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last.Leaf.VerifyHostname(host) == nil
}
