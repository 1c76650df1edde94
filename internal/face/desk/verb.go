// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"io"
	"reflect"

	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/copies"
)

// Verb is one thing that can be asked, with everything that is made of it: its path on the
// socket and in the HTTP API, its command line with help, manual and completion, and the
// schemas of what goes in and out.
//
// Fields of the request with a tag `flag:"name"`, `flag:"name,n"` or `flag:"name,n,default"`
// are flags of the command line, where `usage` says what they are for and names their value
// in capitals. The field with a tag `arg` takes the arguments.
type Verb[Q, A any] struct {
	Name string // the last part of its path
	API  *API   // nil: it is not in the HTTP API
	// Slow: it may take minutes, so it is broken off when the daemon is about to stop.
	Slow bool
	Help *Help // nil: the command line does not have it in this form
	// Text shows the answer on the command line. Problem returns what is wrong with an answer
	// that was shown: the exit code is 1 then. nil: nothing is. If it returns ErrSaid, the
	// answer says so itself.
	Text    func(w io.Writer, a A) error
	Problem func(a A) error

	do func(ctx context.Context, h Host, account string, q Q) (A, error)
}

// API says how the HTTP API has a verb.
type API struct {
	Summary string // what it does, in a few words
	Reads   bool   // the request is in the query, and nothing is changed
	// Whole: the body may have whole messages in it.
	Whole bool
	// Figures: it has no words of the mail, so whoever runs the daemon may ask for any
	// account. All: it is about all accounts, not about one.
	Figures, All bool
}

// Help is what the command line says of a verb.
type Help struct {
	Group   Group
	Use     string // its name and its arguments
	Short   string // one line without a full stop
	Long    string
	Example string // a session
	// All: it is about all accounts, so there is no --account.
	All bool
	// Question is asked after a look at what would be done: the request has the fields DryRun
	// and Yes. "": nothing is asked.
	Question string
}

// Group is what a verb of the command line is for.
type Group string

// Groups of verbs, in the order of the help.
const (
	ToBegin   Group = "To begin"
	ToSee     Group = "To see"
	ToCorrect Group = "To correct and stop"
	ToFilter  Group = "To filter mail elsewhere"
	ToKeep    Group = "To look after the state"
	About     Group = "About the program"
)

// Do carries the verb out. account is "" for the only one, and for verbs that are
// about all accounts.
func (v Verb[Q, A]) Do(ctx context.Context, h Host, account string, q Q) (A, error) {
	return v.do(ctx, h, account, q)
}

// Offer is a Verb whose types are not known at compile time. Requests are pointers.
type Offer struct {
	Name            string
	API             *API
	Slow            bool
	Help            *Help
	Request, Answer reflect.Type
	Do              func(ctx context.Context, h Host, account string, request any) (any, error)
	Text            func(w io.Writer, answer any) error
	Problem         func(answer any) error
}

var offers []Offer

// Offers are all verbs, in the order of their files.
func Offers() []Offer { return offers }

// offer adds a verb to those that server, API and command line have.
func offer[Q, A any](v Verb[Q, A]) Verb[Q, A] {
	o := Offer{
		Name: v.Name, API: v.API, Slow: v.Slow, Help: v.Help, Request: reflect.TypeFor[Q](), Answer: reflect.TypeFor[A](),
		Do: func(ctx context.Context, h Host, account string, q any) (any, error) {
			return v.do(ctx, h, account, *q.(*Q))
		},
		Text: func(w io.Writer, a any) error { return v.Text(w, a.(A)) },
	}
	if v.Problem != nil {
		o.Problem = func(a any) error { return v.Problem(a.(A)) }
	}
	offers = append(offers, o)
	return v
}

// None is the request of a verb that asks for nothing in particular.
type None struct{}

// Raw is a request that crosses the socket as the bytes that it is, not as JSON.
type Raw interface{ Raw() *[]byte }

// Copy is a verb that answers with a file.
type Copy struct {
	Name string // as in Verb

	do func(ctx context.Context, h Host, account string, w io.Writer) error
}

// Do writes the file to w. What was written before an error is of no use.
func (c Copy) Do(ctx context.Context, h Host, account string, w io.Writer) error {
	return c.do(ctx, h, account, w)
}

// ofAccount does something with one account.
func ofAccount[Q, A any](do func(context.Context, Account, Q) (A, error)) func(context.Context, Host, string, Q) (A, error) {
	return func(ctx context.Context, h Host, account string, q Q) (out A, err error) {
		a, err := h.Account(ctx, account)
		if err != nil {
			return out, err
		}
		return do(ctx, a, q)
	}
}

// Backup writes a copy of the store, as of the last commit, without the files of partitions: the
// snapshots topic has what these have.
var Backup = Copy{"backup", func(ctx context.Context, h Host, _ string, w io.Writer) error {
	return h.Store(false, func(s *boltfile.Store, _ *stream.Files) error {
		_, err := s.Backup(copies.PatientWriter(ctx, w))
		return err
	})
}}

// Export writes an account of the store, whether or not it is configured; see
// copies.Export.
var Export = Copy{"export", func(ctx context.Context, h Host, account string, w io.Writer) error {
	return h.Store(false, func(own *boltfile.Store, files *stream.Files) error {
		var names []string
		in := map[string]*boltfile.Store{}
		for _, s := range files.And(own) {
			some, err := s.Accounts()
			if err != nil {
				return err
			}
			for _, name := range some {
				names, in[name] = append(names, name), s
			}
		}
		account, err := Pick(names, account)
		if err != nil {
			return err
		}
		return in[account].CopyAccount(account, copies.PatientWriter(ctx, w))
	})
}}
