// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	blockBytes = 256 << 10
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
		z, err := zstd.NewReader(s.in, zstd.WithDecoderMaxWindow(zstdWindow))
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

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) { return s.in.Read(p) }

func (s *stream) close() {
	if s.decode != nil {
		_ = s.decode.Close()
	}
	if s.file != nil {
		_ = s.file.Close()
	}
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
