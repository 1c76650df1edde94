// SPDX-License-Identifier: Apache-2.0

package persons

// owner makes the owner of a mailbox.
func (w *world) owner(first, last, mail, lang, currency string, l look, h habits) {
	w.first, w.lang, w.currency, w.look, w.h = first, lang, currency, l, h
	w.me = address{first + " " + last, mail}
	w.timetable(w.rand())
}

// family is Katharina, a graphic designer with two children, who writes German and English.
func family(w *world) {
	w.owner("Katharina", "Lindner", "katharina@lindner-grafik.example", "de", "£", lookApple, habits{
		hours: []float64{7.2, 10, 12.7, 15.5, 19, 21.6}, skipsDay: 0.2, answers: 0.8, wait: 6, opens: 0.16,
		stars: 0.05, bins: 0.25, cleans: 0.45, cleanDays: 12, archives: 0.15, files: 0.3, noise: 0.03, takesOff: 0.35})
	partner := w.person("de", "", lookApple)
	w.talks(partner, "family", 45)
	for range 2 {
		w.talks(w.person("de", "", anyLook), "family", 16)
		w.talks(w.person("en", "", anyLook), "friend", 8)
	}
	for range 4 {
		w.talks(w.person("de", "", anyLook), "friend", 7)
	}
	w.talks(w.person("de", "", anyLook), "friend", 24, 150) // a new friend
	w.talks(w.person("en", "brightworks.example", lookOutlook), "client", 30, 200)
	w.talks(w.person("de", "druckhaus-elm.example", lookOutlook), "client", 15)
	w.talks(w.person("de", "verlag-anger.example", anyLook), "client", 18, 0, 180)
	w.talks(w.person("de", "", anyLook), "landlord", 4)
	w.talks(w.person("de", "schule-lindenberg.example", anyLook), "teacher", 6)
	w.talks(w.person("de", "", anyLook), "forward", 8)
	for range 6 {
		w.talks(w.person("de", "", anyLook), "cold", 1.5)
	}
	w.household("de", 1)
	w.households("en", 0.2)
	w.regular(w.brand("de", "school"), "school", 12)
	w.regular(w.brand("de", "clinic"), "appoint", 45)
}

// household is the machine mail of a home: bills, parcels, alerts, and what the same
// companies send besides. much scales what isn't wanted.
func (w *world) household(lang string, much float64) {
	for _, sector := range []string{"telecom", "energy", "insurer"} {
		b := w.brand(lang, sector)
		w.regular(b, "bill", 30.4)
		w.sends(b, "marketing", 14*much)
		w.sends(b, "reminder", 1)
		w.sends(b, "notice", 3)
		w.sends(b, "security", 2)
	}
	bank := w.brand(lang, "bank")
	w.sends(bank, "alert", 12)
	w.regular(bank, "statement", 30.4)
	w.sends(bank, "code", 10)
	w.sends(bank, "marketing", 8*much)
	for range 4 {
		shop := w.brand(lang, "shop")
		w.sends(shop, "marketing", 60*much)
		w.sends(shop, "receipt", 6)
		w.sends(shop, "shipped", 6)
		w.sends(shop, "survey", 4*much)
		w.sends(shop, "bill", 2)
		w.sends(shop, "code", 3)
	}
	w.sends(w.brand(lang, "parcel"), "parcel", 24)
	w.sends(w.brand(lang, "parcel"), "parcel", 12)
	rail := w.brand(lang, "travel")
	w.sends(rail, "travel", 14)
	w.sends(rail, "marketing", 30*much)
	w.sends(rail, "receipt", 5)
	w.sends(w.brand(lang, "travel"), "travel", 5)
	w.households(lang, much)
}

// households is what comes to anybody: newsletters, social notes, lists, spam, phishing.
func (w *world) households(lang string, much float64) {
	w.regular(w.brand(lang, "paper"), "newsletter", 3/much)
	w.regular(w.brand(lang, "paper"), "newsletter", 7/much, 0, 120) // left in spring
	w.regular(w.brand(lang, "paper"), "favourite", 7/much)
	w.sends(w.brand(lang, "social"), "social", 110*much)
	w.sends(w.brand(lang, "social"), "social", 40*much)
	w.regular(w.brand(lang, "list"), "digest", 4/much)
	w.sends(w.brand(lang, "charity"), "newsletter", 14*much)
	gym := w.brand(lang, "gym")
	w.regular(gym, "bill", 30.4, 230)
	w.sends(gym, "marketing", 20*much, 230)
	soft := w.brand(lang, "software")
	w.sends(soft, "receipt", 10)
	w.sends(soft, "notice", 10*much)
	w.sends(soft, "security", 4)
	for range 3 {
		w.sends(w.brand(lang, "bank"), "phish", 7)
		w.sends(w.brand(lang, "shop"), "spam", 15)
	}
}

// office is Daniel, who works in a company in English.
func office(w *world) {
	w.owner("Daniel", "Mercer", "daniel.mercer@harrowgate-foods.example", "en", "£", lookOutlook, habits{
		hours: []float64{8.5, 9.7, 11, 13.2, 14.5, 16, 17.2}, skipsDay: 0.15, answers: 0.9, wait: 3, opens: 0.3,
		stars: 0.04, bins: 0.2, cleans: 0.35, cleanDays: 14, archives: 0.3, files: 0.2, noise: 0.03, takesOff: 0.3})
	for i := range 14 {
		c := w.person("en", "harrowgate-foods.example", lookOutlook)
		w.talks(c, "work", []float64{40, 24, 14, 10, 8, 6, 5, 4, 4, 3, 3, 3, 2, 2}[i])
		if i < 7 {
			w.talks(c, "fyi", 9)
		}
	}
	for range 6 {
		w.talks(w.person("en", "", anyLook), "client", 4)
		w.talks(w.person("en", "", anyLook), "cold", 5)
	}
	w.talks(w.person("en", "talent-brook.example", anyLook), "recruit", 8)
	desk := w.brand("en", "software")
	w.sends(desk, "assigned", 90)
	w.sends(desk, "ticket", 260)
	w.regular(desk, "report", 3)
	w.households("en", 0.8)
	rail := w.brand("en", "travel")
	w.sends(rail, "travel", 16)
	w.sends(rail, "marketing", 20)
}

// phone is Maureen, who reads on a phone and never answers from this mailbox.
func phone(w *world) {
	w.owner("Maureen", "Doyle", "maureen.doyle@inboxly.example", "en", "£", lookApple, habits{
		hours: []float64{7, 8.6, 10.5, 12.4, 14.8, 16.9, 18.5, 20.2, 22}, skipsDay: 0.25, answers: 0, wait: 6, opens: 0.2,
		stars: 0.06, bins: 0.4, cleans: 0.5, cleanDays: 9, archives: 0.03, files: 0, noise: 0.04, takesOff: 0.25})
	for i := range 5 {
		w.talks(w.person("en", "", anyLook), "family", []float64{22, 12, 8, 5, 3}[i])
		w.talks(w.person("en", "", anyLook), "friend", []float64{14, 9, 6, 3, 2}[i])
	}
	w.talks(w.person("en", "", anyLook), "forward", 14)
	w.talks(w.person("en", "", anyLook), "teacher", 5)
	w.household("en", 1.2)
	w.regular(w.brand("en", "clinic"), "appoint", 24)
	w.regular(w.brand("en", "school"), "school", 10)
}
