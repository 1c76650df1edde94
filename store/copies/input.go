// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"io"
	"os"
)

// input opens file for reading, or gives stdin if that is Standard. The caller closes
// what it gets, which leaves stdin open.
func input(file string, stdin io.Reader) (io.ReadCloser, error) {
	if file == Standard {
		return io.NopCloser(stdin), nil
	}
	return os.Open(file)
}
