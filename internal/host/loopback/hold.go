// SPDX-License-Identifier: Apache-2.0

package loopback

// Ports are ports of 127.0.0.1 that are kept for servers of this process, which
// are given them by number. On Linux nobody who asks for just any free port gets
// one of them, whether the server runs or not: between the choice of a port and
// its use, and while a server is stopped to be started again, others would. On
// other systems they were merely free at the time. Not safe for concurrent use.
type Ports struct {
	Numbers []int
	release func()
}

// Hold finds n free ports. The caller calls Release once their servers have ended.
func Hold(n int) (*Ports, error) {
	numbers, release, err := hold(n)
	if err != nil {
		return nil, err
	}
	return &Ports{numbers, release}, nil
}

// Release gives the ports up. It may be called twice, and on nil.
func (p *Ports) Release() {
	if p != nil && p.release != nil {
		p.release()
		p.release = nil
	}
}
