package daemon

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/hinged/hinged/ingest/kafka"
)

// What would change an account of a stream goes into the input topic, where it has
// its place in the order of the account's records.

// sendUnlearn hands an undo to the input topic, if it would be obeyed just now.
func (d *Daemon) sendUnlearn(ctx context.Context, name string, u Unlearn) (Unlearned, error) {
	out, err := look(ctx, d, name, withLogs, func(o *Offline) (Unlearned, error) {
		return o.Unlearn(ctx, name, Unlearn{Since: u.Since, DryRun: true})
	})
	if err != nil || u.DryRun {
		return out, err
	}
	if err := d.stream.Send(ctx, name, kafka.Undo{Since: u.Since}); err != nil {
		return out, fmt.Errorf("handing it to the input topic: %w", err)
	}
	out.DryRun, out.Sent = false, true
	return out, nil
}

// sendForget hands a forget to the input topic, if it would be obeyed just now.
func (d *Daemon) sendForget(ctx context.Context, name string, f Forget) (Forgotten, error) {
	asked := f
	f.DryRun = true
	out, err := look(ctx, d, name, withLogs, func(o *Offline) (Forgotten, error) { return o.Forget(ctx, name, f) })
	if err != nil || asked.DryRun {
		return out, err
	}
	var e kafka.Forget
	switch {
	case out.Message != "":
		key, err := hex.DecodeString(out.Message)
		if err != nil {
			return out, err
		}
		e.Message = &kafka.Ref{Key: [16]byte(key)}
	case out.Sender != "":
		e.Sender = out.Sender
	default:
		e.Before = *out.Before
	}
	if err := d.stream.Send(ctx, name, e); err != nil {
		return out, fmt.Errorf("handing it to the input topic: %w", err)
	}
	out.DryRun, out.Sent = false, true
	out.Why = "it goes through the input topic of Kafka, and the file is written anew once it was read there"
	return out, nil
}
