// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"encoding/base64"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// ownMail returns a message of the owner's with further header lines, parted by "|".
func ownMail(header, body string) []byte {
	return []byte("From: Me <me@example.org>\nMessage-ID: <own@example.org>\n" + strings.ReplaceAll(header, "|", "\n") + "\n\n" + body)
}

// invited is a calendar's part that answers an invitation.
func invited(method, status string) string {
	return "BEGIN:VCALENDAR\r\nMETHOD:" + method + "\r\nBEGIN:VEVENT\r\nUID:7@quay.example\r\nSUMMARY:Painting the boat\r\n" +
		"ATTENDEE;CN=\"Me: myself\";PARTSTAT=" + status + ":mailto:me@example.org\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
}

func calendarPart(part, encoding string) string {
	if encoding == "base64" {
		part = base64.StdEncoding.EncodeToString([]byte(part))
	}
	return "--b\nContent-Type: text/plain\n\nMe will be there.\n--b\nContent-Type: text/calendar; charset=utf-8; method=REPLY\nContent-Transfer-Encoding: " +
		encoding + "\n\n" + part + "\n--b--\n"
}

const (
	inParts   = "|Content-Type: multipart/alternative; boundary=b"
	answering = "Subject: Re: boat|In-Reply-To: <q@quay.example>"
)

func TestTheOwnersMailSaysWhatItsHeaderAndItsCalendarSay(t *testing.T) {
	for _, c := range []struct {
		name, header, body string
		says               Says
		answers            string
	}{
		{"a letter is new", "Subject: boat", "", SaysNew, ""},
		{"an answer names what it answers", answering, "", SaysAnswer, "q@quay.example"},
		{"the last of References is answered", "Subject: Re: boat|References: <a@x> <b@x>", "", SaysAnswer, "b@x"},
		{"In-Reply-To goes before References", answering + "|References: <a@x>", "", SaysAnswer, "q@quay.example"},
		{"a prefix alone is an answer to something", "Subject: Antw: boat", "", SaysAnswer, ""},
		{"another prefix", "Subject: 回复：boat", "", SaysAnswer, ""},
		{"a counted prefix", "Subject: [crew] RE[2] : boat", "", SaysAnswer, ""},

		{"an answering machine by RFC 3834", answering + "|Auto-Submitted: auto-replied (vacation)", "", SaysAutomatic, ""},
		{"a person by RFC 3834", answering + "|Auto-Submitted: no", "", SaysAnswer, "q@quay.example"},
		{"an answering machine of old", answering + "|X-Autorespond: boat", "", SaysAutomatic, ""},
		{"another of old", answering + "|X-Autoreply: yes", "", SaysAutomatic, ""},
		{"Precedence", answering + "|Precedence: auto_reply", "", SaysAutomatic, ""},
		{"Precedence of old", answering + "|Precedence: bulk", "", SaysAutomatic, ""},
		{"what a list writes", answering + "|Precedence: bulk|List-Id: <crew.quay.example>", "", SaysAnswer, "q@quay.example"},
		{"a wish for no machine's answer is none", answering + "|X-Auto-Response-Suppress: All", "", SaysAnswer, "q@quay.example"},
		{"Exchange", answering + "|X-MS-Exchange-Generated-Message-Source: Mailbox Rules Agent", "", SaysAutomatic, ""},
		{"by subject in German", "Subject: Automatische Antwort: boat|In-Reply-To: <q@x>", "", SaysAutomatic, ""},
		{"by subject in French", "Subject: =?utf-8?q?R=C3=A9ponse_automatique=C2=A0=3A_boat?=|In-Reply-To: <q@x>", "", SaysAutomatic, ""},
		{"by subject in English", "Subject: Out of Office AutoReply: boat|In-Reply-To: <q@x>", "", SaysAutomatic, ""},
		{"an answer to a machine", "Subject: Re: Automatic reply: boat|In-Reply-To: <q@x>", "", SaysAnswer, "q@x"},
		{"a receipt", answering + "|Content-Type: multipart/report; report-type=disposition-notification; boundary=b", "", SaysAutomatic, ""},
		{"a report of abuse", answering + "|Content-Type: multipart/report; report-type=feedback-report; boundary=b", "", SaysAutomatic, ""},

		{"leaving by address", "To: crew-unsubscribe@quay.example|Subject: Re: boat|In-Reply-To: <q@x>", "", SaysNothing, ""},
		{"leaving by subject", "Subject: Unsubscribe|In-Reply-To: <q@x>", "", SaysNothing, ""},
		{"leaving in one line", answering, "Hello,\n\nplease UNSUBSCRIBE me!\n", SaysNothing, ""},
		{"leaving in German, in a part", answering + inParts, "--b\nContent-Type: text/plain\n\nBitte abmelden\n--b--\n", SaysNothing, ""},
		{"leaving as the last line", answering, "unsubscribe", SaysNothing, ""},
		{"talk of it is none", answering, "Hello,\nhow do the others unsubscribe from your list?\n", SaysAnswer, "q@quay.example"},
		{"nor is a quotation", answering, "Fine.\n> unsubscribe\n", SaysAnswer, "q@quay.example"},
		{"complaining", "To: abuse@quay.example|Subject: Fwd: boat|In-Reply-To: <q@x>", "", SaysNothing, ""},

		{"a forward", "Subject: Fwd: boat|In-Reply-To: <q@x>|References: <q@x>", "", SaysForward, "q@x"},
		{"a forward of Thunderbird's", "Subject: WG: boat|X-Forwarded-Message-Id: <q@x>", "", SaysForward, "q@x"},
		{"an answer to a forward", "Subject: Re: Fwd: boat|In-Reply-To: <q@x>", "", SaysAnswer, "q@x"},
		{"an answer to a forward on a list", "Subject: [crew] Fwd: boat|In-Reply-To: <q@x>", "", SaysAnswer, "q@x"},
		{"a patch to a folder of such a name", "Subject: [PATCH] fs: boat|In-Reply-To: <q@x>", "", SaysAnswer, "q@x"},

		{"accepting", "Subject: Accepted: boat|In-Reply-To: <q@x>" + inParts, calendarPart(invited("REPLY", "ACCEPTED"), "7bit"), SaysAnswer, "q@x"},
		{"accepting in base64", "Subject: Zugesagt: boat|In-Reply-To: <q@x>" + inParts, calendarPart(invited("REPLY", "ACCEPTED"), "base64"), SaysAnswer, "q@x"},
		{"accepting without a reference", "Subject: Zugesagt: boat" + inParts, calendarPart(invited("REPLY", "ACCEPTED"), "base64"), SaysAnswer, ""},
		{"accepting perhaps", "Subject: Tentative: boat|In-Reply-To: <q@x>" + inParts, calendarPart(invited("REPLY", "TENTATIVE"), "7bit"), SaysAnswer, "q@x"},
		{"another time", "Subject: New time: boat|In-Reply-To: <q@x>" + inParts, calendarPart(invited("COUNTER", "DECLINED"), "7bit"), SaysAnswer, "q@x"},
		{"declining", "Subject: Declined: boat|In-Reply-To: <q@x>" + inParts, calendarPart(invited("REPLY", "DECLINED"), "base64"), SaysNothing, ""},
		{"declining with nothing but the calendar", "Subject: No: boat|In-Reply-To: <q@x>|Content-Type: text/calendar; method=REPLY", invited("REPLY", "DECLINED"), SaysNothing, ""},
		{"no word of the owner's in a calendar", "Subject: boat|In-Reply-To: <q@x>" + inParts, calendarPart(invited("REPLY", "NEEDS-ACTION"), "7bit"), SaysNothing, ""},
		{"inviting in an answer", answering + inParts, calendarPart(invited("REQUEST", "ACCEPTED"), "7bit"), SaysAnswer, "q@quay.example"},
	} {
		f, raw := newFor(t, "", "me@example.org"), ownMail(c.header, c.body)
		m := f.Read(raw)
		if m.Says != c.says || strings.Join(m.Answers, " ") != c.answers {
			t.Errorf("%s: says %d of %q, want %d of %q", c.name, m.Says, m.Answers, c.says, c.answers)
		}
		sameSaying(t, c.name, f, raw)
	}
}

// sameSaying compares what is read of a whole message with what is read of its head.
func sameSaying(t *testing.T, name string, f *Featurizer, raw []byte) {
	t.Helper()
	m, head, others := f.Read(raw), f.ReadHeader(HeadOf(raw)), f.ReadOthers(raw)
	answer := f.ReadAnswer(HeadOf(raw))
	if answer.FromOwner != m.FromOwner || answer.MessageID != m.MessageID || answer.Date != m.Date || !slices.Equal(answer.From, m.From) {
		t.Errorf("%s: as an answer %+v, as a whole %+v", name, answer, m)
	}
	if !answer.FromOwner { // what others say is not looked at
		answer.Says, answer.Answers = m.Says, m.Answers
	}
	for _, other := range []*Message{head, others, answer} {
		if other.Says != m.Says || other.Topic != m.Topic || !slices.Equal(other.Answers, m.Answers) {
			t.Errorf("%s: of the head %d, %q, %x; of the whole %d, %q, %x", name, other.Says, other.Answers, other.Topic, m.Says, m.Answers, m.Topic)
		}
	}
	if again := f.ReadOthers(raw); !reflect.DeepEqual(again, others) {
		t.Errorf("%s: read twice: %+v, then %+v", name, others, again)
	}
}

func TestTheHeadOfAMessageSaysAsMuchAsTheWhole(t *testing.T) {
	for _, owner := range []string{"ada@example.net", "carol@kernel.example"} {
		f := newFor(t, "", owner)
		for file, raw := range sampleMails(t) {
			sameSaying(t, file, f, raw)
		}
	}
}

func TestSubjectsHaveATopicWithoutTheirMarks(t *testing.T) {
	f := newFor(t, "", "me@example.org")
	topic := func(subject string) uint64 { return f.Read([]byte("From: a@b\nSubject: " + subject + "\n\n")).Topic }
	for _, group := range [][]string{
		{"Boat and oars", "Re: Boat and oars", "AW: SV: boat  AND oars", "[crew] Odp: Boat and oars", "Fwd: Boat and oars", "RE : Boat and oars", "Einladung: Boat and oars"},
		{"Budget: oars", "Re: Budget: oars"},
		{"=?utf-8?q?K=C3=84SE?=", "Vá: =?utf-8?b?a8Okc2U=?="},
	} {
		for _, subject := range group[1:] {
			if topic(subject) != topic(group[0]) {
				t.Errorf("%q has another topic than %q", subject, group[0])
			}
		}
	}
	if topic("Boat") == topic("Budget: Boat") || topic("Boat") == topic("Oars") {
		t.Error("two topics are one")
	}
	for _, none := range []string{"", "Re:", "[crew]", "Re: AW: "} {
		if got := topic(none); got != 0 {
			t.Errorf("%q has the topic %x", none, got)
		}
	}
}
