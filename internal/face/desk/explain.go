// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/naming"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Explain takes apart the score of a message. One that is given by its content need
// not be known.
var Explain = offer(Verb[ExplainRequest, Explanation]{
	Name: "explain", do: ofAccount(explain),
	API: &API{Summary: "Take apart the score of a message", Whole: true},
})

// ExplainRequest says which message to explain.
type ExplainRequest struct {
	Message Message `json:"message" jsonschema:"required"` // Message is the message to explain.
}

// Part is the share of one feature in a score.
type Part struct {
	Name  string `json:"feature"`        // name of the feature; "" if the name is not kept
	Text  string `json:"text,omitempty"` // the feature in plain words
	Group string `json:"group"`          // group of the feature: misc, social, subject, body or constant
	// what the feature is about, as a person would say: sender, addressed, thread,
	// question, list, subject, text, quoted, attachment, links, patch, form, absent
	// (something that the message lacks) or constant
	About  string  `json:"about"`
	Value  float64 `json:"value"`  // value of the feature in the vector
	Weight float64 `json:"weight"` // weight of the feature in the model
	Amount float64 `json:"amount"` // value times weight
	// index is that of a part that nameParts is to look for the name of; else 0.
	index model.Index
}

// Explanation is what `hinged explain` prints about one message.
type Explanation struct {
	Account string `json:"account"` // name of the account
	MessageSummary
	Others     []string `json:"others,omitempty"`   // Others are the keys of other messages that have the requested Message-ID.
	Copies     []string `json:"copies,omitempty"`   // Copies are the keys of other messages that have the Message-ID of this one, whatever it was requested by.
	Known      bool     `json:"known"`              // whether the message was seen before; otherwise it is decided as if it had just arrived
	Now        float64  `json:"threshold"`          // the current threshold
	OutcomeNow string   `json:"outcome_now"`        // OutcomeNow is the decision that would be made now. If the message has a label, that is its outcome, and this is the decision on another message like it.
	RuleNow    string   `json:"rule_now,omitempty"` // RuleNow is the rule that would decide now, regardless of the score.
	UnsureFrom float64  `json:"unsure_from"`        // UnsureFrom is the lower end of the band below the threshold in which messages are unsure.
	Missing    string   `json:"missing,omitempty"`  // Missing says in words what must be learnt before anything can be decided; "" if enough was learnt.
	// WordsDays is above 0 if the words of the message are no longer kept; they are kept
	// for this many days at most (names_days). A part then has a name only if a later
	// message has the same feature.
	WordsDays   int          `json:"words_days,omitempty"`
	Parts       []Part       `json:"parts"`       // parts of the score, by descending |amount|; their sum is the score
	Without     []Without    `json:"without"`     // Without is the smallest set of parts that, if left out, would change the decision.
	Corrections []Correction `json:"corrections"` // Corrections say how a label from the owner would change the score.
	LessonPulls
}

// Without is the smallest set of parts that, if left out, would change the decision.
type Without struct {
	Outcome string  `json:"outcome"` // the decision without these parts
	Score   float64 `json:"score"`   // score of all other parts
	Parts   []int   `json:"parts"`   // Parts are positions in the list of parts, counted from 0, strongest first.
}

// Correction is the effect that one label, learnt now, would have on a score.
type Correction struct {
	Label   string  `json:"label"`   // the label: important or ordinary
	Score   float64 `json:"score"`   // score after the lesson
	Outcome string  `json:"outcome"` // Outcome is the decision for that score if the threshold stays the same.
}

func partsOf(contributions []filter.Contribution) []Part {
	out := make([]Part, 0, len(contributions))
	for _, c := range contributions {
		out = append(out, Part{
			Name: c.Name, Group: c.Group.String(), About: string(words.FacetOf(c.Name)), Value: c.Value, Weight: c.Weight, Amount: c.Amount,
		})
	}
	return out
}

// WordsNotKept stands for the name of a feature that is kept by its hash only.
const WordsNotKept = "a word that is not kept"

func describePart(name string) string {
	if name == "" {
		return WordsNotKept
	}
	return words.Describe(name)
}

// explanation turns what the filter found into what is shown. m is the message's row.
func (d *Desk) explanation(k store.MessageKey, m *store.Message, ex filter.Explanation) Explanation {
	out := Explanation{
		Account: d.Account, MessageSummary: summarise(d.Filter, k, m, ex.Features),
		Now: ex.Cut.Threshold, OutcomeNow: ex.Outcome.String(),
		UnsureFrom: ex.Cut.Low, Missing: missing(d.Filter),
		Parts: partsOf(ex.Parts), Without: []Without{}, Corrections: []Correction{},
		LessonPulls: LessonPulls{Lessons: []LessonPull{}, trace: d.traced(k, &ex)},
	}
	why := words.ReasonsOf(ex.Features, ex.Parts, d.Filter.People.Correspondence(m.Sender), true)
	out.Score, out.For, out.Against = ex.Score, words.Texts(why.For), words.Texts(why.Against)
	if ex.Rule != nil {
		out.RuleNow = ex.Rule.Match
	}
	at, onList := map[model.Index]int{}, words.OnList(ex.Features)
	for i, c := range ex.Parts {
		out.Parts[i].Text = describePart(c.Name)
		if out.Parts[i].About == string(words.FacetPatch) && !onList {
			out.Parts[i].About = string(words.FacetForm) // where no list is, nobody knows patches
		}
		at[c.Index] = i
	}
	for _, flip := range ex.Flips {
		w := Without{Outcome: flip.Outcome.String(), Score: flip.Score}
		for _, index := range flip.Features {
			w.Parts = append(w.Parts, at[index])
		}
		out.Without = append(out.Without, w)
	}
	for _, c := range ex.Corrections {
		out.Corrections = append(out.Corrections, Correction{Label: c.Label.String(), Score: c.Score, Outcome: c.Outcome.String()})
	}
	return out
}

func missing(f *filter.Filter) string {
	var want []string
	s := f.Line().Standing()
	if s.Important == 0 {
		want = append(want, "one that you call important")
	}
	if s.Important == s.Labels {
		want = append(want, "one that you call ordinary")
	}
	return strings.Join(want, " and ")
}

// explain names the parts, and traces the score to lessons, outside of Look: that reads
// learnt messages.
func explain(ctx context.Context, a Account, q ExplainRequest) (ex Explanation, err error) {
	var m *featurize.Message
	if q.Message.Content != nil {
		r, err := a.Reader(ctx)
		if err != nil {
			return ex, err
		}
		if m, err = r.Read(ctx, r.Cut(*q.Message.Content)); err != nil {
			return ex, err
		}
	}
	var past Past
	err = a.Look(ctx, func(d *Desk) error {
		past = d.Past
		if m != nil {
			ex, err = d.explainMail(m)
		} else {
			ex, err = d.explain(q.Message.Name)
		}
		return err
	})
	if err == nil {
		err = ex.tracePulls(ctx, a, past)
	}
	if err == nil {
		err = ex.nameParts(ctx, past)
	}
	return ex, err
}

// explain takes apart the score of a message named by its Message-ID or key.
func (d *Desk) explain(message string) (Explanation, error) {
	f := d.Filter
	k, err := findMessage(f, message)
	if err != nil {
		return Explanation{}, err
	}
	ex, err := f.Explainer.Explain(k, words.Unspoken)
	if errors.Is(err, store.ErrNotFound) {
		return Explanation{}, fmt.Errorf("%w: %s: %w (it is the owner's own mail, is in an excluded folder, or is too old)", ErrNoMessage, message, ErrNoWords)
	}
	if err != nil {
		return Explanation{}, err
	}
	m := ex.Message
	out := d.explanation(k, &m, ex)
	out.Others = othersOf(f, message, k)
	for _, other := range f.People.Copies(m.ID) {
		if other != k {
			out.Copies = append(out.Copies, hexKey(other))
		}
	}
	if f.Options().Featurize.Names {
		for i, c := range ex.Parts {
			if c.Name == "" {
				out.Parts[i].index = c.Index
				out.WordsDays = int(cmp.Or(f.Options().NamesFor, store.NamesFor) / (24 * time.Hour))
			}
		}
	}
	out.Known = true
	return out, nil
}

// explainMail takes apart the score of a message that need not be known: if it
// is, and its words are kept, as it was when it arrived.
func (d *Desk) explainMail(m *featurize.Message) (Explanation, error) {
	f := d.Filter
	k := store.MessageKey(m.Key)
	if row, known := f.State().Messages.Get(string(k[:])); known && row.Outcome != store.Undecided {
		if out, err := d.explain(hexKey(k)); !errors.Is(err, ErrNoMessage) {
			return out, err
		}
	}
	var out Explanation
	err := f.Classify(m, func(v filter.Decision, features *featurize.Features) {
		row := store.Message{Sender: filter.NewMeta(m).From, Outcome: v.Outcome, Reason: v.Reason, Score: v.Score, Threshold: v.Threshold, Probability: float32(v.Probability)}
		out = d.explanation(k, &row, f.Explainer.ExplainFeatures(features, m.Vouched, words.Unspoken))
		if v.Rule != nil {
			out.Rule = v.Rule.Match
		}
	})
	if m.Own() {
		out.Corrections = []Correction{}
	}
	return out, err
}

// nameParts names, as far as messages with words tell, the parts of a message without.
func (ex *Explanation) nameParts(ctx context.Context, past Past) error {
	var unknown model.Vector
	for _, p := range ex.Parts {
		if p.index != 0 {
			unknown = append(unknown, model.Feature{Index: p.index})
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	names, err := naming.Find(ctx, past.Store, past.Account, unknown)
	for i := range ex.Parts {
		p := &ex.Parts[i]
		if p.index == 0 {
			continue
		}
		if p.Name = names[p.index]; p.Name != "" {
			p.Text, p.About = words.Describe(p.Name), string(words.FacetOf(p.Name))
		} else {
			p.Text = fmt.Sprintf("%s (%010x)", WordsNotKept, uint64(p.index))
		}
		p.index = 0
	}
	return err
}

// partKinds are what parts without a line of their own are summed up as, by what they are
// about; one and many of them.
var partKinds = [...]struct {
	about     []string
	one, many string
}{
	{[]string{"text"}, "word of the text", "words of the text"},
	{[]string{"subject"}, "word of the subject", "words of the subject"},
	{[]string{"sender"}, "fact about the sender", "facts about the sender"},
	{[]string{"thread", "addressed", "question", "list"}, "fact about the thread and whom it went to", "facts about the thread and whom it went to"},
	{[]string{"quoted"}, "word quoted or of the signature", "words quoted or of the signature"},
	{[]string{"attachment", "links", "patch", "form", "constant"}, "fact about its form", "facts about its form"},
	{[]string{string(words.FacetAbsent)}, "thing that it has none of", "things that it has none of"},
	{nil, "other part", "other parts"},
}

// Kinds is how many kinds of parts there are; see Kind.
const Kinds = len(partKinds)

// Kind is which of the Kinds a part belongs to, from 0. Parts of one kind may be summed
// up; KindText names them.
func (p *Part) Kind() int {
	if p.Text != "" && !strings.HasPrefix(p.Text, WordsNotKept) {
		for k, kind := range partKinds {
			if slices.Contains(kind.about, p.About) {
				return k
			}
		}
	}
	return len(partKinds) - 1
}

// Absent reports whether a part says that the message has none of something, or is about its
// form. Nobody looks for that, so it needs no line of its own.
func (p *Part) Absent() bool {
	return p.About == string(words.FacetAbsent) || p.About == string(words.FacetForm)
}

// KindText says how many parts of a kind there are: 24 facts about the sender.
func KindText(kind, n int) string {
	if n == 1 {
		return "1 " + partKinds[kind].one
	}
	return fmt.Sprintf("%d %s", n, partKinds[kind].many)
}
