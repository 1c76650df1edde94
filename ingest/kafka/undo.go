package kafka

import "time"

// Undo takes back what the account learnt since a moment.
type Undo struct{ Since time.Time }

// Type is TypeUndo.
func (Undo) Type() string { return TypeUndo }

func (u Undo) encode() ([]byte, string) {
	return mustJSON(UndoValue{u.Since.UTC().Format(time.RFC3339Nano)}), contentJSON
}

// UndoValue is the value of a record of TypeUndo.
type UndoValue struct {
	// Since is a time (RFC 3339).
	Since string `json:"since" jsonschema:"format=date-time"`
}

func parseUndo(value []byte) (Event, *Refusal) {
	f, refusal := object(value, "undo", "since")
	if refusal != nil {
		return nil, refusal
	}
	since, refusal := f.time("since")
	if refusal != nil {
		return nil, refusal
	}
	return Undo{Since: since}, nil
}
