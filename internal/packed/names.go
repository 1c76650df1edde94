// SPDX-License-Identifier: Apache-2.0

package packed

import "github.com/klauspost/compress/s2"

// DecompressNames returns the names that featurize.Features.PackNames returned without
// compression, so that others can be compressed together with them. What is no such names is
// returned as it is. Features.UnpackNames reads the result, too.
func DecompressNames(data []byte) []byte {
	if len(data) == 0 || data[0] != 0 {
		return data
	}
	const most = 1 << 20
	if size, err := s2.DecodedLen(data[1:]); err != nil || size > most {
		return data
	}
	plain, err := s2.Decode(nil, data[1:])
	if err != nil {
		return data
	}
	return append([]byte{1}, plain...)
}
