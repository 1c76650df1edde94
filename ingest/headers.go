// SPDX-License-Identifier: Apache-2.0

package ingest

import "context"

// HeaderReader is a Source that can read a message's heading once more when somebody wants
// to see it.
type HeaderReader interface {
	// Headers returns the fields Subject, From and Message-ID of messages, as they stand
	// in the header. A message that is not at its place any more is missing. Nothing
	// becomes \Seen, and nothing is kept beyond a few minutes.
	//
	// It returns when all is read or ctx is done, with what was read by then; the error
	// says why something may be missing. It waits for no server that is not connected
	// already as far as the Source's own work goes. Safe for concurrent use.
	Headers(ctx context.Context, places []Place) (map[Place][]byte, error)
}

// Poster is a Source that can put a message into a mailbox of the owner's.
type Poster interface {
	// Post puts a message, as it is to be transferred, into a mailbox, with no flags, unless
	// one with this Message-ID is there: so it may be asked again after an error, also by
	// another process. It returns when the server has it. Safe for concurrent use.
	Post(ctx context.Context, mailbox, messageID string, raw []byte) error
}
