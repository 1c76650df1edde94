// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// whole has a dialect read text in pieces of the sizes that size gives.
func whole(text string, size func() int) (string, error) {
	d, out := newDialect(), []byte(nil)
	for len(text) > 0 {
		n := min(len(text), size())
		var err error
		if out, err = d.read(out, []byte(text[:n])); err != nil {
			return string(out), err
		}
		text = text[n:]
	}
	return string(out), nil
}

func TestWhatServersSpellInTheirOwnWayIsPutRight(t *testing.T) {
	t.Parallel()
	const kept = "(\\seen nonjunk lower) \"nil\" {x}"
	for said, want := range map[string]string{
		"* ok [capability imap4rev1 idle] ready\r\n":                            "* ok [CAPABILITY imap4rev1 idle] ready\r\n",
		"* OK [permanentflags (\\seen lower \\*)] kept\r\n":                     "* OK [PERMANENTFLAGS (\\seen lower \\*)] kept\r\n",
		"* ok [uidvalidity 7]\r\n* ok [unseen]\r\n":                             "* ok [UIDVALIDITY 7]\r\n* ok [UNSEEN]\r\n",
		"a1 no [authenticationfailed] no [such] user\r\n":                       "a1 no [AUTHENTICATIONFAILED] no [such] user\r\n",
		"a1 ok no [code] here\r\n":                                              "a1 ok no [code] here\r\n",
		"* esearch (tag \"t1\") uid all 1:3\r\n":                                "* esearch (TAG \"t1\") UID ALL 1:3\r\n",
		"* list (\\sent) nil inbox\r\n":                                         "* list (\\sent) NIL inbox\r\n",
		"* LIST () \"a\" \"my) nil\" \r\n":                                      "* LIST () \"a\" \"my) nil\" \r\n",
		"* LIST () \" \" nil\r\n":                                               "* LIST () \" \" nil\r\n",
		"* status inbox (messages 1)\r\n":                                       "* status inbox (messages 1)\r\n",
		"* STATUS a (UIDNEXT 9 HIGHESTMODSEQ NaN)\r\n":                          "* STATUS a (UIDNEXT 9 HIGHESTMODSEQ 0)\r\n",
		"* status \"x uidnext y\" (highestmodseq -1 uidnext 4294967296)\r\n":    "* status \"x uidnext y\" (highestmodseq 0 uidnext 0)\r\n",
		"* STATUS {9}\r\nUIDNEXT x (MESSAGES 9223372036854775808 UNSEEN x)\r\n": "* STATUS {9}\r\nUIDNEXT x (MESSAGES 0 UNSEEN x)\r\n",
		"* OK [HIGHESTMODSEQ NaN] NaN\r\n":                                      "* OK [HIGHESTMODSEQ 0] NaN\r\n",
		"* ok [highestmodseq 9223372036854775807] x\r\n":                        "* ok [HIGHESTMODSEQ 9223372036854775807] x\r\n",
		"* OK HIGHESTMODSEQ NaN\r\n":                                            "* OK HIGHESTMODSEQ NaN\r\n",
		"* 1 FETCH (MODSEQ (NaN) RFC822.SIZE NIL UID 5)\r\n":                    "* 1 FETCH (MODSEQ (0) RFC822.SIZE 0 UID 5)\r\n",
		"* 1 FETCH (MODSEQ (7) UID 5 RFC822.SIZE 12)\r\n":                       "* 1 FETCH (MODSEQ (7) UID 5 RFC822.SIZE 12)\r\n",
		"* 1 fetch (uid 5 flags (\\seen lower) body[] nil)\r\n":                 "* 1 fetch (UID 5 FLAGS (\\seen lower) BODY[] NIL)\r\n",
		"* 1 fetch (internaldate \"1-jan-2024 10:00:00 +0000\")\r\n":            "* 1 fetch (INTERNALDATE \"1-jan-2024 10:00:00 +0000\")\r\n",
		"* 1 fetch (internaldate \" 1-jan-2024 10:00:00 +0000\" uid 5)\r\n":     "* 1 fetch (INTERNALDATE \" 1-jan-2024 10:00:00 +0000\" UID 5)\r\n",
		"* 1 FETCH (INTERNALDATE \"01-Jan-0001 00:00:00 +0000\" UID 5)\r\n":     "* 1 FETCH (INTERNALDATE " + noDate + " UID 5)\r\n",
		"* 1 FETCH (UID 5 INTERNALDATE \"31-Dec-10000 00:00:00 +0000\")\r\n":    "* 1 FETCH (UID 5 INTERNALDATE " + noDate + ")\r\n",
		"* 1 fetch (internaldate nil flags ())\r\n":                             "* 1 fetch (INTERNALDATE " + noDate + " FLAGS ())\r\n",
		"* 1 FETCH (INTERNALDATE \"\")\r\n* ok [b]\r\n":                         "* 1 FETCH (INTERNALDATE " + noDate + ")\r\n* ok [B]\r\n",
		"* 1 FETCH (INTERNALDATE \"x\r\n* ok [b]\r\n":                           "* 1 FETCH (INTERNALDATE \"x\r\n* ok [B]\r\n",
		"* 1 FETCH (INTERNALDATE {3}\r\n\" ( FLAGS ())\r\n":                     "* 1 FETCH (INTERNALDATE {3}\r\n\" ( FLAGS ())\r\n",
		"* 1 FETCH (INTERNALDATE \"" + strings.Repeat("x", 99) + "\")\r\n":      "* 1 FETCH (INTERNALDATE \"" + strings.Repeat("x", 99) + "\")\r\n",
		"* 1 FETCH (X (INTERNALDATE NIL) FLAGS (INTERNALDATE NIL))\r\n":         "* 1 FETCH (X (INTERNALDATE NIL) FLAGS (INTERNALDATE NIL))\r\n",
		"* 1 FETCH (BODY[]<0>{3}\r\nabc flags ())\r\n":                          "* 1 FETCH (BODY[]<0> {3}\r\nabc FLAGS ())\r\n",
		"* 1 FETCH (BODY[]{3}\r\nabc)\r\n":                                      "* 1 FETCH (BODY[] {3}\r\nabc)\r\n",
		"* 1 FETCH (BODY[]\"abc\")\r\n":                                         "* 1 FETCH (BODY[] \"abc\")\r\n",
		"* 1 FETCH (BODY[] ~{4}\r\n\x00a\r\n)\r\n":                              "* 1 FETCH (BODY[] ~{4}\r\n\x00a\r\n)\r\n",
		"* 1 FETCH (BODY[] {8}\r\n* ok [a]\r\n)\r\n* ok [a]\r\n":                "* 1 FETCH (BODY[] {8}\r\n* ok [a]\r\n)\r\n* ok [A]\r\n",
		"* LIST () \"/\" {5}\r\na] {3\r\n* ok [b]\r\n":                          "* LIST () \"/\" {5}\r\na] {3\r\n* ok [B]\r\n",
		"* OK no literal {99999}\r\n* ok [b]\r\n":                               "* OK no literal {99999}\r\n* ok [B]\r\n",
		"* flags " + kept + "\r\n* x " + kept + "\r\n* ok [b] x\r\n":            "* flags " + kept + "\r\n* x " + kept + "\r\n* ok [B] x\r\n",
		"* LIST () \"/\" \"quoted \\\" {5}\"\r\n* ok [b]\r\n":                   "* LIST () \"/\" \"quoted \\\" {5}\"\r\n* ok [B]\r\n",
		"+ go [on] (" + strings.Repeat("(", 2*maxDepth) + "\r\n":                "+ go [on] (" + strings.Repeat("(", 2*maxDepth) + "\r\n",
		"* OK " + strings.Repeat("(", 2*maxDepth) + "\r\n* ok [b]\r\n":          "* OK " + strings.Repeat("(", 2*maxDepth) + "\r\n* ok [B]\r\n",
		"* 405 uidfetch (flags ())\r\n* OK [b]\r\n":                             "* 405 fetch (UID 405 FLAGS ())\r\n* OK [B]\r\n",
		"* 4 UIDFETCH (UID 4 BODY[] {3}\r\n((\n X (a))\r\n":                     "* 4 FETCH (UID 4 UID 4 BODY[] {3}\r\n((\n X (a))\r\n",
		"* VANISHED 405,407:408\r\n* OK [b]\r\n":                                "* 1 EXPUNGE\r\n* 1 EXPUNGE\r\n* 1 EXPUNGE\r\n* OK [B]\r\n",
		"* 1 FETCH (BODY[] {66}\r\n" + strings.Repeat("(", 66) + ")\r\n":        "* 1 FETCH (BODY[] {66}\r\n" + strings.Repeat("(", 66) + ")\r\n",
	} {
		rnd := rand.New(rand.NewPCG(1, 1))
		for name, size := range map[string]func() int{
			"at once":      func() int { return 1 << 20 },
			"byte by byte": func() int { return 1 },
			"in pieces":    func() int { return 1 + rnd.IntN(6) },
		} {
			if got, err := whole(said, size); err != nil || got != want {
				t.Errorf("%s: %q became %q, %v; want %q", name, said, got, err, want)
			}
		}
	}
}

func TestAnswersAreNestedToALimit(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"* 1 FETCH ", "* THREAD ", "* LIST () \"", "* unknown ", "* 5 ", "("} {
		at := head + strings.Repeat("(", maxDepth-strings.Count(head, "(")+strings.Count(head, ")"))
		once := func() int { return 1 << 20 }
		if _, err := whole(at, once); err != nil {
			t.Errorf("%q: %v at the limit", head, err)
		}
		if _, err := whole(at+"(", once); !errors.Is(err, errDepth) {
			t.Errorf("%q: %v past the limit", head, err)
		}
		// What was closed counts no more, and each line anew.
		if _, err := whole(strings.Repeat(at+strings.Repeat(")", maxDepth)+"\r\n", 3), once); err != nil {
			t.Errorf("%q: %v for three lines at the limit", head, err)
		}
	}
}

// uidOnlyLine is a line that ENABLE UIDONLY brings, or one as if it were.
var uidOnlyLine = regexp.MustCompile(`(?i)(^|\n)\S*[ \r](v|\d+[ \r]+u)`)

func FuzzDialectDoesNotDependOnPieces(f *testing.F) {
	f.Add("* 1 FETCH (BODY[]<0>{3}\r\nabc flags ())\r\n* ok [a] b\r\n", uint64(1))
	f.Add("* 1 FETCH (INTERNALDATE \"00-Jan-1900 00:00:00 +0000\" UID 5)\r\n", uint64(3))
	f.Add("* VANISHED 1:3\r\n* 5 UIDFETCH (UID 5)\r\n", uint64(4))
	f.Add("* esearch (tag \"x\\\"\") uid\r\n+ x\r\nA no [b", uint64(2))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		once, err := whole(text, func() int { return 1 << 20 })
		again, err2 := whole(text, func() int { return 1 + rnd.IntN(9) })
		if once != again || !errors.Is(err2, err) {
			t.Errorf("%q, %v at once; %q, %v in pieces", once, err, again, err2)
		}
		// Nothing is changed but case, spaces put in, dates, and what UIDONLY needs.
		plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), " ", "") }
		if err == nil && plain(once) != plain(text) && !strings.Contains(plain(text), "internaldate") && !uidOnlyLine.MatchString(text) {
			t.Errorf("%q became %q", text, once)
		}
	})
}

// TestABadOptionalFieldEndsNoConnection: a server counts changes in no number, and takes the
// quotes of a quoted field name for part of it.
func TestABadOptionalFieldEndsNoConnection(t *testing.T) {
	t.Parallel()
	var quoted atomic.Bool
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			switch cmd.Name {
			case "LIST":
				c.Line(`* LIST () "/" INBOX`)
				c.Line(`* LIST (\Sent) "/" Sent`)
				c.OK(cmd)
			case "STATUS":
				name, _, _ := strings.Cut(cmd.Args, " ")
				c.Line("* STATUS %s (MESSAGES 1 UIDNEXT 2 UIDVALIDITY 1 HIGHESTMODSEQ NaN)", name)
				c.OK(cmd)
			default:
				quoted.Store(quoted.Load() || strings.Contains(cmd.Args, `FIELDS ("`))
				return false
			}
			return true
		}
	})
	f.Add("Subject: one\r\nFrom: a@example.org\r\nMessage-ID: <1@example.org>\r\n\r\n", "")
	r := startSource(t, options(f.Addr, "owner", "not to be seen"))
	awaitConnected(t, r)
	place := ingest.Place{Mailbox: "INBOX", UIDValidity: 1, UID: 1}
	if got := fieldsOf(t, headers(t, r, place)[place]); got[0] != "one" || quoted.Load() {
		t.Errorf("the header is %q; a field name was quoted: %v", got, quoted.Load())
	}
	if st := r.source.Status(); st.Reconnects > 0 || !st.Connected {
		t.Errorf("the status is %+v", st)
	}
}
