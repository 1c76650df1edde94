// SPDX-License-Identifier: Apache-2.0

package kafka

import "time"

// Unlearn takes back what the account learnt since a moment.
type Unlearn struct{ Since time.Time }

// Type is TypeUnlearn.
func (Unlearn) Type() string { return TypeUnlearn }

func (u Unlearn) encode() ([]byte, string) {
	return mustJSON(UnlearnValue{u.Since.UTC().Format(time.RFC3339Nano)}), contentJSON
}

// UnlearnValue is the value of a record of TypeUnlearn.
type UnlearnValue struct {
	// Since is a time (RFC 3339). Lessons learnt at that time or later are taken back.
	Since string `json:"since" jsonschema:"format=date-time"`
}

func parseUnlearn(value []byte) (Event, *Refusal) {
	f, refusal := object(value, "unlearn", "since")
	if refusal != nil {
		return nil, refusal
	}
	since, refusal := f.time("since")
	if refusal != nil {
		return nil, refusal
	}
	return Unlearn{Since: since}, nil
}
