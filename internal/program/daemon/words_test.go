// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// unnamed begins the description of a feature whose name is not told.
const unnamed = "unknown: in fewer than 3 learnt messages"

// TestWordsAreWeighedAsTheModelDoes: the same through the socket and from the
// store, and every weight is that of the feature of that name.
func TestWordsAreWeighedAsTheModelDoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, stop := began(t, dir)
	teach(s)
	for i := range 4 {
		s.events <- arrival(uint32(10+i), mail(10+i, "boss@example.com", fmt.Sprint("urgent code 12345678 only", i)), `\Flagged`)
	}
	until(t, d, "six lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 6 })
	named := must(t, d, desk.GetWords, desk.WordsRequest{Words: []string{"urgent", "12345678", "nonsuch"}, Most: 2})
	if w := named.Words; len(w) != 3 || len(w[0].Features) != 2 || w[0].More < 1 || len(w[1].Features) == 0 || len(w[2].Features) != 0 {
		t.Errorf("got %+v", named.Words)
	}
	all := must(t, d, desk.GetWords, desk.WordsRequest{Most: 1000})
	if len(all.Important)+len(all.Ordinary) != all.Weights || all.Weights == 0 {
		t.Errorf("%d and %d features of %d", len(all.Important), len(all.Ordinary), all.Weights)
	}
	st, err := d.store.Load("me")
	testkit.OK(t, err)
	names := map[string]bool{}
	for _, list := range [][]desk.WordWeight{all.Important, all.Ordinary} {
		last := math.Inf(1)
		for _, f := range list {
			if math.Abs(f.Weight) > last {
				t.Errorf("%q is out of order", f.Feature)
			}
			last = math.Abs(f.Weight)
			if f.Feature == "" {
				if !strings.HasPrefix(f.Text, unnamed) {
					t.Errorf("an unnamed feature is described as %q", f.Text)
				}
				continue
			}
			names[f.Feature] = true
			if f.Feature != "constant" && st.Weights.Get(featurize.IndexOf(f.Feature)) != f.Weight {
				t.Errorf("%q weighs %v, not %v", f.Feature, st.Weights.Get(featurize.IndexOf(f.Feature)), f.Weight)
			}
		}
	}
	for name, want := range map[string]bool{
		"subject:urgent":   true,  // in five learnt messages
		"subject:12345678": false, // in four, but a code
		"subject:matter":   false, // in one
		"subject:only1":    false, // in one
	} {
		if names[name] != want {
			t.Errorf("%q is named: %v, want %v", name, names[name], want)
		}
	}
	live := sameOnAllFaces(t, dir, d, stop, func(b answerer) string {
		named := must(t, b, desk.GetWords, desk.WordsRequest{Words: []string{"urgent", "boss@example.com", "12345678", "nonsuch"}, Most: 3})
		all, few := must(t, b, desk.GetWords, desk.WordsRequest{Most: 1000}), must(t, b, desk.GetWords, desk.WordsRequest{Most: 2})
		return fmt.Sprintf("%+v\n%+v\n%+v", named, all, few)
	})
	if !strings.Contains(live, unnamed) {
		t.Error("nothing is unnamed")
	}
}

// A message older than the words are kept is explained as exactly as any other, with
// the names that later messages tell.
func TestAMessageWithoutWordsIsExplained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, stop := began(t, dir)
	teach(s)
	for i := range 5 {
		s.events <- arrival(uint32(10+i), mail(10+i, "boss@example.com", fmt.Sprint("urgent only", i)), `\Flagged`)
	}
	until(t, d, "seven lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 7 })
	ctx := context.Background()
	const message = "m10@x"
	before, err := do(ctx, d, desk.Explain, "me", desk.ExplainRequest{Message: desk.Message{Name: message}})
	if err != nil || before.WordsDays != 0 {
		t.Fatalf("%d days, %v", before.WordsDays, err)
	}
	stop()
	path := filepath.Join(dir, "store.db")
	again, err := boltfile.Open(path, boltfile.Options{NoSync: true, NamesCap: 4})
	testkit.OK(t, err)
	st, err := again.Load("me")
	testkit.OK(t, err)
	st.Account.LastArrival++
	testkit.OK(t, errors.Join(again.Commit("me", st, store.Batch{}), again.Close()))
	after := must(t, stored(t, dir), desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: message}})
	if after.WordsDays != 30 || after.Score != before.Score || len(after.Parts) != len(before.Parts) {
		t.Errorf("%d days, score %v, %d parts; want 30, %v, %d", after.WordsDays, after.Score, len(after.Parts), before.Score, len(before.Parts))
	}
	named := 0
	for i, p := range after.Parts {
		was := before.Parts[i]
		if p.Name == "" {
			if !strings.HasPrefix(p.Text, "a word that is not kept (") {
				t.Errorf("%q is described as %q", was.Name, p.Text)
			}
			p.Name, p.Text, p.About = was.Name, was.Text, was.About
		} else if p.Group != featurize.Constant.String() {
			named++
		}
		if p != was {
			t.Errorf("got part %+v, want %+v", p, was)
		}
		if strings.HasSuffix(p.Name, "only0") && after.Parts[i].Name != "" {
			t.Errorf("%q is named", p.Name)
		}
	}
	if named == 0 || named >= len(after.Parts)-1 {
		t.Errorf("%d of %d parts are named", named, len(after.Parts))
	}
}

// TestWordsInNamesOfVouchedForSendersAreFound: with a server to believe, the words of a
// sender's name count together with the domain. They are found by the word alone once
// three learnt messages had that domain, and by the word at the domain always.
func TestWordsInNamesOfVouchedForSendersAreFound(t *testing.T) {
	t.Parallel()
	s := newScript()
	o := testOptions()
	o.Featurize.AuthServID = "mx.example.org"
	d, _ := launch(t, options(t.TempDir(), from("me", o, s)), nil)
	s.events <- opened
	weighed := func(word string) (texts []string) {
		t.Helper()
		got := must(t, d, desk.GetWords, desk.WordsRequest{Words: []string{word}, Most: 100})
		for _, f := range got.Words[0].Features {
			texts = append(texts, f.Text)
		}
		return texts
	}
	const want = `"beatrix" in the name of a sender at example.com`
	for n := 1; n <= 3; n++ {
		raw := fmt.Appendf(nil, "Authentication-Results: mx.example.org; dkim=pass header.d=example.com\r\n%s",
			mail(n, "Beatrix Boss <boss@example.com>", fmt.Sprintf("matter%d", n)))
		s.events <- arrival(uint32(n), raw, `\Flagged`)
		until(t, d, "a lesson", func(a desk.AccountStatus) bool { return a.Important == uint64(n) })
		if got := weighed("Beatrix"); slices.Contains(got, want) != (n >= 3) {
			t.Errorf("after %d messages: %q", n, got)
		}
		if got := weighed("beatrix@example.com"); !slices.Contains(got, want) {
			t.Errorf("after %d messages, with the domain: %q", n, got)
		}
	}
	if got := weighed("nonsuch"); len(got) != 0 {
		t.Errorf("a word that nobody has: %q", got)
	}
}

// A Message-ID means the same message wherever it is named, as it is copied out of a
// message, too.
func TestAMessageIsFoundByItsIDHoweverThatIsWritten(t *testing.T) {
	t.Parallel()
	d, s, _ := began(t, t.TempDir())
	teach(s)
	until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	for _, id := range []string{"m1@x", "<m1@x>", " < m1@x >\r\n", "Message-ID: <m1@x>", "\u00a0<m1@x>\u00a0", "<m1@x> (copied)"} {
		ex, err := do(t.Context(), d, desk.Explain, "", desk.ExplainRequest{Message: desk.Message{Name: id}})
		if err != nil || ex.Label != "important" {
			t.Errorf("explain %q: %+v, %v", id, ex.Label, err)
		}
		if l, err := do(t.Context(), d, desk.GetLedger, "", desk.LedgerRequest{Message: id}); err != nil || l.Message != ex.Message {
			t.Errorf("ledger %q: %+v, %v", id, l.Message, err)
		}
	}
}

// An owner's address is the same for `hinged forget` as for the filter.
func TestTheOwnerIsNotForgottenHoweverTheirAddressIsWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := testOptions()
	o.Featurize.Owner = []string{" Owner@Example.org "}
	_, stop := open(t, dir, o, boltfile.Options{})
	stop()
	h := stored(t, dir)
	for _, sender := range []string{"owner@example.org", "Me <OWNER@example.org>"} {
		if _, err := do(t.Context(), h, desk.Forget, "", desk.ForgetRequest{Sender: sender, DryRun: true}); !errors.Is(err, desk.ErrForget) {
			t.Errorf("%s: got %v, want ErrForget", sender, err)
		}
	}
}

// An account that is in the store and not configured any more is verified, too.
func TestVerifyLooksAtAccountsThatNobodyRuns(t *testing.T) {
	t.Parallel()
	d, _, _ := began(t, t.TempDir())
	until(t, d, "the start", func(desk.AccountStatus) bool { return true })
	testkit.OK(t, d.store.Commit("gone", filled(t, d, 0), store.Batch{Journal: [][]byte{{1}}}))
	v, err := do(t.Context(), d, desk.Verify, "", desk.VerifyRequest{})
	if err != nil || len(v.Accounts) != 2 {
		t.Errorf("got %+v, %v", v, err)
	}
}
