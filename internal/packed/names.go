// SPDX-License-Identifier: Apache-2.0

package packed

import "github.com/klauspost/compress/s2"

// The beginning of what featurize.Features.MarshalBinary returns.
const (
	NamesVersion = 1
	// NamesHead is how many bytes come before the part that may be compressed: the version,
	// the flags, and the factors.
	NamesHead = 2 + 8*(1+Groups)
	// NamesPlain is the flag that says that this part is not compressed.
	NamesPlain = 4

	namesFlags = 1 | 2 // all others
)

// mostNames bounds the part that is compressed, in bytes, once it is not.
const mostNames = 1 << 20

// DecompressNames returns features with their names without compression, so that others can
// be compressed together with them. What is not such features, is not compressed, or is
// larger than 1 MiB is returned as it is. Decoding the result gives the same features.
func DecompressNames(data []byte) []byte {
	if len(data) < NamesHead || data[0] != NamesVersion || data[1]&^namesFlags != 0 {
		return data
	}
	size, err := s2.DecodedLen(data[NamesHead:])
	if err != nil || size > mostNames {
		return data
	}
	plain := make([]byte, NamesHead+size)
	copy(plain, data[:NamesHead])
	plain[1] |= NamesPlain
	if _, err := s2.Decode(plain[NamesHead:], data[NamesHead:]); err != nil {
		return data
	}
	return plain
}
