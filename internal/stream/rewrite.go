package stream

import (
	"context"

	"github.com/hinged/hinged/ingest/kafka"
)

// rewrite does what an undo or a forget says. Nothing else is in the batch.
func (p *partition) rewrite(_ context.Context, h *held, it *item) (*kafka.Refusal, error) {
	if !h.known {
		p.cache.drop(h)
		return refuse(kafka.UnknownAccount, "no record of this account came before"), nil
	}
	return refuse(kafka.UnknownType, "%s is not known here", it.event.Type()), nil
}
