// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"strings"
	"testing"
)

// invitationNames returns the features of a message whose one part is a calendar, or that has it
// behind a text.
func invitationNames(t testing.TB, text, calendar string) map[string]bool {
	t.Helper()
	raw := "From: ines@harbour.example\nTo: me@example.org\nSubject: Plan\nContent-Type: multipart/mixed; boundary=b\n\n"
	if text != "" {
		raw += "--b\nContent-Type: text/plain\n\n" + text + "\n"
	}
	f := newFor(t, "", "me@example.org")
	names := map[string]bool{}
	for n := range f.Freeze(f.Read([]byte(raw+"--b\nContent-Type: text/calendar; method=REQUEST\n\n"+calendar+"\n--b--\n")), History{}).All() {
		names[n.Name] = true
	}
	return names
}

func TestAnInvitationIsItsTitlePlaceTimeAndOrganiser(t *testing.T) {
	const dull = "body:begin body:vcalendar body:vevent body:dtstart body:uid body:mailto body:rsvp body:summary body:europe"
	for _, c := range []struct{ name, text, calendar, has, not string }{
		{
			"folded lines and parameters", "Come.",
			"BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VTIMEZONE\nTZID:Europe/Berlin\nBEGIN:STANDARD\nDTSTART:16010101T030000\nEND:STANDARD\nEND:VTIMEZONE\n" +
				"BEGIN:VEVENT\nUID:20261105-1@x\nDTSTART;TZID=\"Europe/Berlin\":20261203T143000\nSUMMARY;LANGUAGE=de:Probe des Cho\n res\nLOCATION:Kleiner\n\t Saal\n" +
				"ORGANIZER;CN=\"Duarte: Ines\":MAILTO:Ines@Harbour.example\nDESCRIPTION:Noten mitbringen\n" +
				"BEGIN:VALARM\nSUMMARY:Wecker\nEND:VALARM\nEND:VEVENT\nEND:VCALENDAR",
			"body:come body:probe body:chores body:saal invitation:request invitation:on_thursday invitation:in_the_afternoon invitation:organiser_ines@harbour.example",
			"body:noten body:wecker body:20261105 invitation:at_night invitation:on_monday body:cho " + dull,
		},
		{
			"a calendar alone, with escapes", "",
			"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Lunch\\, late\r\nLOCATION:Caf\xc3\xa9\\; upstairs\r\nDESCRIPTION:Bring Ana\\nand the keys\r\nDTSTART:20261204T110000Z\r\nEND:VEVENT",
			"body:lunch body:late body:café body:upstairs body:keys body:and opening:bring invitation:on_friday",
			"body:nand invitation:in_the_morning invitation:request " + dull,
		},
		{
			"a day, called off by the owner", "It rains.",
			"begin:vcalendar\nmethod:cancel\nbegin:vevent\ndtstart;value=date:20261206\norganizer:mailto:me@example.org\nsummary:Regatta\nend:vevent\nend:vcalendar",
			"invitation:cancel invitation:on_sunday invitation:organiser_me@example.org body:regatta", "invitation:at_night " + dull,
		},
		{
			"an answer", "",
			invited("REPLY", "\"ACCEPTED\""), "invitation:reply invitation:accepted body:painting", "body:partstat body:myself " + dull,
		},
		{
			"what is broken", "",
			"END:VEVENT\n\n:x\n continued\nBEGIN:VEVENT\nSUMMARY\nLOCATION;X=\"open:Pier\nDTSTART:2026\nDTSTART:20269999T99\nORGANIZER:\nMETHOD:PARTY\nSUMMARY:Tide",
			"body:tide body:pier", "invitation:party invitation:at_night " + dull,
		},
	} {
		got := invitationNames(t, c.text, c.calendar)
		for want := range strings.FieldsSeq(c.has) {
			if want = strings.ReplaceAll(want, "_", " "); !got[want] {
				t.Errorf("%s: %q is missing", c.name, want)
			}
		}
		for not := range strings.FieldsSeq(c.not) {
			if not = strings.ReplaceAll(not, "_", " "); got[not] {
				t.Errorf("%s: has %q", c.name, not)
			}
		}
	}
}

func TestAnOrganiserWhomNobodyVouchesForIsAClaim(t *testing.T) {
	f := newFor(t, "mx.example.org")
	raw := "From: a@b.example\nContent-Type: text/calendar\n\nBEGIN:VEVENT\nORGANIZER:mailto:ines@harbour.example\n"
	const name = "invitation?:organiser ines@harbour.example"
	for n := range f.Freeze(f.Read([]byte(raw)), History{}).All() {
		if n.Name == name {
			return
		}
	}
	t.Errorf("%q is missing", name)
}

// FuzzCalendar: no bytes make it panic, and what is read are features of its kind.
func FuzzCalendar(f *testing.F) {
	for _, seed := range []string{
		invited("REPLY", "DECLINED"), "BEGIN:VEVENT\n SUMMARY:x\nSUMMARY:a\\", "BEGIN:VEVENT\nORGANIZER;CN=\":\"mailto:@\nDTSTART:20260101T\n", "END:X\n:\n;\n\"", "\r\n \r\n\t",
	} {
		f.Add([]byte(seed))
	}
	reader := newFor(f, "", "me@example.org")
	f.Fuzz(func(t *testing.T, text []byte) {
		raw := append([]byte("From: a@b\nContent-Type: text/calendar\n\n"), text...)
		for n := range reader.Freeze(reader.Read(raw), History{}).All() {
			if strings.HasPrefix(n.Name, "invitation") && !strings.HasPrefix(n.Name, "invitation:") && !strings.HasPrefix(n.Name, "invitation?:") {
				t.Errorf("%q has a prefix of its own", n.Name)
			}
		}
	})
}

func TestTheSeedsOfTheCalendarFuzzReachItsCode(t *testing.T) {
	f := newFor(t, "", "me@example.org")
	if m := f.Read(append([]byte("From: me@example.org\nContent-Type: text/calendar\n\n"), invited("REPLY", "DECLINED")...)); m.Says != SaysNothing || f.calendar.status != "declined" {
		t.Errorf("says %d, status %q", m.Says, f.calendar.status)
	}
}
