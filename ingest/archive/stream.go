// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	blockBytes  = 256 << 10
	blocksAhead = 4
	// zstdWindow is the greatest that `zstd --long` makes without further ado;
	// it bounds the memory that a file can ask for.
	zstdWindow = 128 << 20
)

// stream is the content of one file, decompressed. It is an io.Reader.
type stream struct {
	path   string
	read   atomic.Int64 // bytes of the file itself; 0 for standard input
	file   io.Closer    // nil for standard input
	in     *bufio.Reader
	decode io.Closer

	ahead *ahead
	block []byte // rest of the block being read
}

// magic numbers of compressed files, longest first.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	unread    = []struct {
		magic []byte
		name  string
	}{
		{[]byte{0xfd, '7', 'z', 'X', 'Z', 0}, "xz"}, {[]byte("BZh"), "bzip2"},
	}
)

// openStream opens a file, whatever it is compressed with.
func openStream(path string, stdin io.Reader) (*stream, error) {
	s := &stream{path: path}
	raw := stdin
	if path != stdinPath {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		s.file, raw = f, &counter{f, &s.read}
	}
	s.in = bufio.NewReaderSize(raw, 64<<10)
	head, _ := s.in.Peek(6) // an error comes again at the first read
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(s.in)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("read %s at offset 0: %w", path, err)
		}
		s.decode = z
		s.in = bufio.NewReaderSize(z, 64<<10)
	case bytes.HasPrefix(head, zstdMagic):
		z, err := zstd.NewReader(s.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			s.close()
			return nil, fmt.Errorf("read %s at offset 0: %w", path, err)
		}
		s.decode = z.IOReadCloser()
		s.in = bufio.NewReaderSize(z, 64<<10)
	default:
		for _, f := range unread {
			if bytes.HasPrefix(head, f.magic) {
				s.close()
				return nil, fmt.Errorf("read %s: it is compressed with %s, which hinged can't read; decompress it first", path, f.name)
			}
		}
	}
	return s, nil
}

func (s *stream) peek(n int) ([]byte, error) { return s.in.Peek(n) }

// readAhead has another goroutine read and decompress, a few blocks ahead.
// Plain files are left out, since the system reads ahead by itself; and so is
// standard input: nothing could wake a goroutine that waits there, and so close
// could not wait for it.
func (s *stream) readAhead() {
	if s.file == nil || s.decode == nil {
		return
	}
	a := &ahead{full: make(chan result, blocksAhead), free: make(chan []byte, blocksAhead+1), stop: make(chan struct{})}
	for range blocksAhead {
		a.free <- make([]byte, blockBytes)
	}
	s.ahead = a
	a.done.Go(func() { a.run(s.in) })
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	if s.ahead == nil {
		return s.in.Read(p)
	}
	if len(s.block) == 0 {
		block, err := s.ahead.next()
		if err != nil {
			return 0, err
		}
		s.block = block
	}
	n := copy(p, s.block)
	s.block = s.block[n:]
	return n, nil
}

func (s *stream) close() {
	if s.ahead != nil {
		s.ahead.close()
	}
	if s.decode != nil {
		_ = s.decode.Close()
	}
	if s.file != nil {
		_ = s.file.Close()
	}
}

// ahead reads in a goroutine of its own.
type ahead struct {
	full    chan result
	free    chan []byte
	stop    chan struct{}
	done    sync.WaitGroup
	current []byte
	err     error
}

type result struct {
	block []byte
	err   error
}

func (a *ahead) run(r io.Reader) {
	defer close(a.full)
	for {
		var block []byte
		select {
		case block = <-a.free:
		case <-a.stop:
			return
		}
		n, err := fill(r, block)
		select {
		case a.full <- result{block[:n], err}:
		case <-a.stop:
			return
		}
		if err != nil {
			return
		}
	}
}

// fill reads until block is full or r ends. Unlike io.ReadFull it leaves the
// error as it is: an unexpected EOF is a truncated file.
func fill(r io.Reader, block []byte) (int, error) {
	n := 0
	for n < len(block) {
		m, err := r.Read(block[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// next returns the next block; it is valid until the call after.
func (a *ahead) next() ([]byte, error) {
	if a.current != nil {
		a.free <- a.current[:blockBytes]
		a.current = nil
	}
	if a.err != nil {
		return nil, a.err
	}
	r := <-a.full
	a.err = r.err
	if len(r.block) == 0 && r.err != nil {
		return nil, r.err
	}
	a.current = r.block
	return r.block, nil
}

func (a *ahead) close() {
	close(a.stop)
	a.done.Wait()
}

// counter counts what is read through it.
type counter struct {
	r io.Reader
	n *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
