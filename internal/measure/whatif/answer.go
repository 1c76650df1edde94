// SPDX-License-Identifier: Apache-2.0

package whatif

import "time"

// State says how far a run is.
type State string

// The states of a run.
const (
	Waiting State = "waiting" // for the run of another account
	Running State = "running"
	Done    State = "done"
	Stopped State = "stopped" // somebody stopped it, or the program ended
	Failed  State = "failed"
)

// Ended reports whether a run goes no further.
func (s State) Ended() bool { return s == Done || s == Stopped || s == Failed }

// Run is one replay of an account's kept past with other settings beside today's. While
// it is under way, its figures are those of the part replayed so far.
type Run struct {
	// ID names the run. It is kept in memory for half an hour after its end.
	ID      string `json:"id"`
	Account string `json:"account"` // name of the account
	// State is waiting (for the run of another account), running, done, stopped or failed.
	State   State  `json:"state"`
	Problem string `json:"problem,omitempty"` // why the run failed
	// Progress is the part of the journal that is replayed, from 0 to 1.
	Progress float64 `json:"progress"`
	// Messages is the number of decided messages replayed so far.
	Messages int `json:"messages"`
	Total    int `json:"total"` // number of decided messages to replay
	// From is when the first replayed message arrived.
	From *time.Time `json:"from,omitempty"`
	UpTo *time.Time `json:"up_to,omitempty"` // UpTo is when the last replayed message arrived.
	// Seconds is how long the run has taken so far.
	Seconds float64 `json:"seconds"`
	Left    float64 `json:"left"` // estimated seconds until the end
	// FromStart reports whether the kept log reaches back to the account's first lesson.
	// Forgetting mail or taking lessons back cuts it. If it does not reach back, both settings begin with what had been learnt by From, with the settings of
	// then.
	FromStart bool `json:"from_start"`
	// Changes are the settings that differ from today's, in the order of the
	// configuration.
	Changes []Change `json:"changes"`
	Config  string   `json:"config"`  // lines of the configuration that make the changes, for [[account]]
	Command string   `json:"command"` // the same run from a terminal
	Today   Figures  `json:"today"`   // figures with today's settings
	Other   Figures  `json:"other"`   // figures with the other settings
	// Points are the wrong decisions added up over time. A point is valid until the next
	// one. There are at most 400.
	Points []Point `json:"points"`
	Weeks  []Week  `json:"weeks"` // figures by week, from Monday, in the account's time zone
	// Differ is the number of messages that one of the two settings would have marked and
	// the other one not.
	Differ int `json:"differ"`
	// FoundOther is how many of them are important and would be marked with the other
	// settings only.
	FoundOther int `json:"found_other"`
	FoundToday int `json:"found_today"` // how many are important and would be marked with today's settings only
	// FoundChance is the probability of a split at least as uneven between FoundOther and
	// FoundToday if both settings found equally many (two-sided sign test).
	FoundChance float64 `json:"found_chance"`
	// FalseOther is how many of them are ordinary and would be marked with the other
	// settings only.
	FalseOther int `json:"false_other"`
	FalseToday int `json:"false_today"` // how many are ordinary and would be marked with today's settings only
	// FalseChance is to these two what FoundChance is to the others.
	FalseChance float64 `json:"false_chance"`
	// Verdict is same (no mark differs), unclear (the differences may be chance: both
	// probabilities are 0.025 or more), choice (one setting finds more, the other one puts
	// fewer marks on ordinary mail), better or worse.
	Verdict Verdict `json:"verdict"`
	// Recommendation says in words what the figures support.
	Recommendation string       `json:"recommendation"`
	Differences    []Difference `json:"differences"` // messages that differ, newest first, at most 100
	// Live compares the replay with today's settings to what was decided live.
	Live Live `json:"live"`
}

// Verdict is what comes of a comparison.
type Verdict string

// The verdicts.
const (
	Same    Verdict = "same"
	Unclear Verdict = "unclear"
	Choice  Verdict = "choice"
	Better  Verdict = "better"
	Worse   Verdict = "worse"
)

// Change is one setting that differs from today's.
type Change struct {
	Key   string `json:"key"`   // key in the configuration, such as threshold.share
	Today string `json:"today"` // value today, as the configuration writes it
	Other string `json:"other"` // value in the replay
}

// Figures are what one group of settings led to. A message counts as marked if it was
// decided important within per_day, whether or not marks were set at that time. Labels
// are those that are known today. Labels from provisional silence don't count.
type Figures struct {
	Decided int     `json:"decided"` // messages decided
	Marked  int     `json:"marked"`  // messages that would be marked
	Unsure  int     `json:"unsure"`  // messages decided unsure
	Share   float64 `json:"share"`   // part of the decided messages that would be marked
	// Right is the number of marked messages that were important.
	Right     int `json:"right"`
	TakenOff  int `json:"taken_off"`  // marked messages of which the owner said or showed that they were ordinary
	LeftAlone int `json:"left_alone"` // marked messages on which the owner did nothing for the days of silence
	Open      int `json:"open"`       // marked messages of which nothing is known yet
	Missed    int `json:"missed"`     // important messages that would not be marked
	Wrong     int `json:"wrong"`      // taken_off plus missed
	Kept      int `json:"kept"`       // marked minus taken_off
	// Precision is right divided by right, taken_off and left_alone together.
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"` // right divided by right and missed together
	F1        float64 `json:"f1"`     // harmonic mean of precision and recall
	// Lessons is the number of lessons learnt in the replay, provisional ones included.
	Lessons   int     `json:"lessons"`
	Mistakes  int     `json:"mistakes"`   // lessons whose score was on the wrong side of 0, or 0
	HingeLoss float64 `json:"hinge_loss"` // hinge loss summed over the lessons
	// MarksFrom is when shadow = "auto" would have ended with these settings.
	MarksFrom *time.Time `json:"marks_from,omitempty"`
}

// Point is a moment in the curves of wrong decisions.
type Point struct {
	At    time.Time `json:"at"`    // when a message arrived
	Today int       `json:"today"` // wrong decisions up to then with today's settings
	Other int       `json:"other"` // wrong decisions up to then with the other settings
}

// Week has the figures of the messages that arrived in a week.
type Week struct {
	From    time.Time `json:"from"`    // beginning of the week
	Decided int       `json:"decided"` // messages decided in it
	Today   WeekPart  `json:"today"`   // with today's settings
	Other   WeekPart  `json:"other"`   // with the other settings
}

// WeekPart is what one group of settings led to in a week.
type WeekPart struct {
	Marked int `json:"marked"` // messages that would be marked
	Wrong  int `json:"wrong"`  // wrong decisions
}

// Difference is a message that one of the two settings would have marked and the other
// one not.
type Difference struct {
	Message string    `json:"message"` // key of the message, in hexadecimal
	Arrived time.Time `json:"arrived"` // when it arrived
	Label   string    `json:"label"`   // label that is known today: important, ordinary, or "" for none
	// Source says where the label came from; silence also for a marked message on which
	// the owner did nothing.
	Source string  `json:"label_source"`
	Today  Decided `json:"today"` // decision with today's settings
	Other  Decided `json:"other"` // decision with the other settings
}

// Decided is a decision in the replay.
type Decided struct {
	Outcome   string  `json:"outcome"`   // important, unsure or ordinary
	Marked    bool    `json:"marked"`    // whether it would be marked
	Score     float64 `json:"score"`     // score at arrival
	Threshold float64 `json:"threshold"` // threshold at arrival
}

// Live compares a replay with today's settings to what was decided live. They differ
// only if the settings were changed within the replayed time.
type Live struct {
	Decided int `json:"decided"` // decisions compared
	Differ  int `json:"differ"`  // decisions with another outcome
}
