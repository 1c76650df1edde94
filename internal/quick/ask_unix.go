//go:build unix

package quick

import (
	"bytes"
	"errors"
	"syscall"
	"time"
)

// maxAnswer is far above what the daemon answers.
const maxAnswer = 64 << 10

var errAnswer = errors.New("no answer that is understood")

// ask sends a message to the daemon that listens on socket and returns the body
// of its answer. It speaks HTTP/1.0, where an answer ends with the connection
// (RFC 1945), over plain system calls: packages net and net/http take longer to
// get ready than all of this. Why it failed is of no interest: the long way will
// fail too, and say so.
func ask(socket, account string, raw []byte, deadline time.Time) ([]byte, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = syscall.Close(fd) }()
	syscall.CloseOnExec(fd)
	if err := patience(fd, syscall.SO_SNDTIMEO, deadline); err != nil {
		return nil, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
		return nil, err
	}
	request := make([]byte, 0, 200+len(raw))
	request = append(append(append(request, "POST /v1/filter?account="...), account...), " HTTP/1.0\r\nContent-Length: "...)
	request = append(append(appendNumber(request, len(raw)), "\r\n\r\n"...), raw...)
	for len(request) > 0 {
		n, err := again(func() (int, error) { return syscall.Write(fd, request) })
		if err != nil {
			return nil, err
		}
		request = request[n:]
	}
	if err := patience(fd, syscall.SO_RCVTIMEO, deadline); err != nil {
		return nil, err
	}
	answer := make([]byte, 0, 4<<10)
	for {
		if len(answer) == cap(answer) {
			if len(answer) >= maxAnswer {
				return nil, errAnswer
			}
			answer = append(make([]byte, 0, 2*cap(answer)), answer...)
		}
		n, err := again(func() (int, error) { return syscall.Read(fd, answer[len(answer):cap(answer)]) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return bodyOf(answer)
		}
		answer = answer[:len(answer)+n]
	}
}

// appendNumber appends a number that is not below 0.
func appendNumber(b []byte, n int) []byte {
	if n >= 10 {
		b = appendNumber(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

// bodyOf takes the body of a whole answer that says 200. One that broke off is
// told by its length.
func bodyOf(answer []byte) ([]byte, error) {
	end := bytes.Index(answer, []byte("\r\n\r\n"))
	if end < 0 {
		return nil, errAnswer
	}
	head, body := answer[:end+2], answer[end+4:]
	length := append(appendNumber([]byte("\r\nContent-Length: "), len(body)), "\r\n"...)
	if !bytes.HasPrefix(head, []byte("HTTP/1.0 200 ")) || !bytes.Contains(head, length) {
		return nil, errAnswer
	}
	return body, nil
}

// patience lets no call take longer than until the deadline.
func patience(fd, option int, deadline time.Time) error {
	left := time.Until(deadline)
	if left <= 0 {
		return syscall.ETIMEDOUT
	}
	// A time of 0 would mean for ever.
	tv := syscall.NsecToTimeval(max(left, time.Millisecond).Nanoseconds())
	return syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, option, &tv)
}

// again repeats a call that a signal interrupted.
func again(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
