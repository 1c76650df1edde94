package kafka

import "errors"

// refusedFor reports whether err is a refusal for that reason.
func refusedFor(err error, reason Reason) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Reason == reason
}
