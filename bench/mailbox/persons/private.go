// SPDX-License-Identifier: Apache-2.0

package persons

// owner makes the owner of a mailbox.
func (w *world) owner(first, last, mail, lang string, l look, h habits) {
	w.first, w.lang, w.currency, w.look, w.h = first, lang, "£", l, h
	w.me = address{first + " " + last, mail}
	w.timetable(w.rand())
}

// several invents n people who each write as a manner says, the first the most.
func (w *world) several(n int, lang, domain, rule string, perYear float64, days ...int) (cs []*contact) {
	for i := range n {
		c := w.person(lang, domain, anyLook)
		w.talks(c, rule, perYear/(1+0.6*float64(i)), days...)
		cs = append(cs, c)
	}
	return cs
}

// family is Katharina, a graphic designer with two children, who writes German and English.
func family(w *world) {
	w.owner("Katharina", "Lindner", "katharina@lindner-grafik.example", "de", lookApple, habits{
		hours: []float64{7.2, 10, 12.7, 15.5, 19, 21.6}, skipsDay: 0.2, answers: 0.85, wait: 6, opens: 0.16, clears: 0.15,
		stars: 0.05, bins: 0.25, cleans: 0.45, cleanDays: 12, archives: 0.15, files: 0.3, forwards: 0.08, noise: 0.03, takesOff: 0.35})
	w.trusted = w.person("de", "", lookApple)
	w.talks(w.trusted, "family", 45)
	w.several(3, "de", "", "family", 18)
	w.several(3, "en", "", "friend", 11)
	w.several(5, "de", "", "friend", 12)
	w.several(1, "de", "", "friend", 26, 150)                        // a new friend
	w.several(2, "en", "brightworks.example", "client", 30, 200)     // a new project
	w.several(2, "de", "verlag-anger.example", "client", 22, 0, 180) // an old one
	w.several(1, "de", "druckhaus-elm.example", "supplier", 12)
	w.several(1, "de", "", "landlord", 4)
	w.several(2, "de", "schule-lindenberg.example", "teacher", 8)
	w.several(2, "de", "", "forward", 8)
	w.several(7, "de", "", "cold", 3)
	parents := panel{kind: "parents", rule: "post", length: 3, named: 0.1, cc: 0.5, answer: 0.6, wants: 0.4}
	parents.members = w.several(6, "de", "", "friend", 0.4)
	w.circle(parents, 7)
	w.household("de", 1)
	w.public("en", 0.2)
	school := w.brand("de", "school")
	w.regular(school, "school", 13)
	w.sends(school, "newsletter", 10)
	w.regular(w.brand("de", "clinic"), "appoint", 45)
	club := w.brand("de", "charity")
	w.regular(club, "club", 40)
	w.regular(w.brand("de", "paper"), "awaited", 30)
	w.sends(w.brand("de", "social"), "relay", 10)
	w.sends(w.brand("de", "office"), "official", 3)
	w.fakes(26, w.brands, w.people)
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
		w.sends(b, "renewal", 1)
	}
	bank := w.brand(lang, "bank")
	w.sends(bank, "alert", 12)
	w.regular(bank, "statement", 30.4)
	w.sends(bank, "code", 10)
	w.sends(bank, "marketing", 8*much)
	for i := range 6 {
		shop := w.brand(lang, "shop")
		days := [][]int{nil, nil, nil, nil, {130}, {0, 160}}[i] // a new shop, and one that was left
		w.sends(shop, "marketing", 40*much, days...)
		w.sends(shop, "receipt", 5, days...)
		w.sends(shop, "shipped", 5, days...)
		w.sends(shop, "survey", 3*much, days...)
		w.sends(shop, "bill", 2, days...)
		w.sends(shop, "code", 2, days...)
		w.sends(shop, "reset", 0.7, days...)
	}
	w.sends(w.brand(lang, "parcel"), "parcel", 24)
	w.sends(w.brand(lang, "parcel"), "parcel", 12)
	rail := w.brand(lang, "travel")
	w.sends(rail, "travel", 14)
	w.sends(rail, "marketing", 30*much)
	w.sends(rail, "receipt", 5)
	w.sends(w.brand(lang, "travel"), "travel", 5)
	if (&pen{lang: lang}).has("event") {
		w.sends(w.brand(lang, "shop"), "event", 5)
	}
	w.public(lang, much)
}

// public is what comes to anybody: newsletters, social notes, lists, spam, phishing.
func (w *world) public(lang string, much float64) {
	w.regular(w.brand(lang, "paper"), "newsletter", 3/much)
	w.regular(w.brand(lang, "paper"), "newsletter", 7/much, 0, 120) // left in autumn
	w.regular(w.brand(lang, "paper"), "favourite", 7/much)
	w.sends(w.brand(lang, "social"), "social", 100*much)
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
	w.sends(soft, "webinar", 5*much)
	for range 6 {
		w.sends(w.brand(lang, "shop"), "spam", 9)
	}
}

// phone is Maureen, who reads on a phone and never answers from this mailbox.
func phone(w *world) {
	w.owner("Maureen", "Doyle", "maureen.doyle@inboxly.example", "en", lookApple, habits{
		hours: []float64{7, 8.6, 10.5, 12.4, 14.8, 16.9, 18.5, 20.2, 22}, skipsDay: 0.25, answers: 0, wait: 6, opens: 0.2, clears: 0.1,
		stars: 0.06, bins: 0.4, cleans: 0.5, cleanDays: 9, archives: 0.03, noise: 0.04, takesOff: 0.25})
	w.several(5, "en", "", "family", 28)
	w.several(6, "en", "", "friend", 16)
	w.several(1, "en", "", "friend", 20, 120)
	w.several(2, "en", "", "forward", 12)
	w.several(2, "en", "oakfield-primary.example", "teacher", 5)
	w.several(1, "en", "", "landlord", 5)
	w.several(4, "en", "", "cold", 3)
	w.household("en", 1.1)
	w.regular(w.brand("en", "clinic"), "appoint", 24)
	w.regular(w.brand("en", "school"), "school", 12)
	w.regular(w.brand("en", "charity"), "club", 40)
	w.regular(w.brand("en", "paper"), "awaited", 28)
	w.sends(w.brand("en", "social"), "relay", 8)
	w.fakes(24, w.brands, w.people)
}

// student is Álvaro, who studies in Spain and writes no English.
func student(w *world) {
	w.owner("Álvaro", "Rincón", "alvaro.rincon@alumnos.uni-plata.example", "es", lookGmail, habits{
		hours: []float64{9.3, 11.5, 14, 17.5, 20, 23.2}, skipsDay: 0.3, answers: 0.75, wait: 8, opens: 0.22, clears: 0.2,
		stars: 0.04, bins: 0.15, cleans: 0.35, cleanDays: 20, archives: 0.05, files: 0.1, noise: 0.04, takesOff: 0.3})
	uni := w.brand("es", "university")
	w.sends(uni, "deadline", 26)
	w.sends(uni, "course", 190)
	w.sends(uni, "moved", 60)
	w.sends(uni, "uninews", 150)
	w.sends(uni, "security", 2)
	fellows := w.several(8, "es", "alumnos.uni-plata.example", "fellow", 18)
	w.several(2, "es", "alumnos.uni-plata.example", "fellow", 24, 140) // a new group
	w.several(5, "es", "uni-plata.example", "prof", 7)
	w.circle(panel{kind: "fellow student", members: fellows, rule: "fellow", length: 4, named: 0.15, cc: 0.3, answer: 0.6, wants: 0.6}, 12)
	w.several(3, "es", "", "family", 14)
	w.several(3, "es", "", "friend", 10)
	w.several(1, "es", "", "forward", 7)
	w.several(1, "es", "", "landlord", 8)
	w.several(4, "es", "", "cold", 3)
	w.public("es", 0.9)
	phone := w.brand("es", "telecom")
	w.regular(phone, "bill", 30.4)
	w.sends(phone, "marketing", 20)
	bank := w.brand("es", "bank")
	w.sends(bank, "alert", 9)
	w.regular(bank, "statement", 30.4)
	w.sends(bank, "code", 9)
	for range 3 {
		shop := w.brand("es", "shop")
		w.sends(shop, "marketing", 50)
		w.sends(shop, "receipt", 5)
		w.sends(shop, "shipped", 4)
	}
	w.sends(w.brand("es", "parcel"), "parcel", 14)
	rail := w.brand("es", "travel")
	w.sends(rail, "travel", 16)
	w.sends(rail, "marketing", 25)
	w.regular(w.brand("es", "clinic"), "appoint", 80)
	w.sends(w.brand("es", "office"), "official", 5)
	w.regular(w.brand("es", "charity"), "club", 45)
	w.sends(w.brand("es", "software"), "renewal", 2)
	w.regular(w.brand("es", "social"), "jobs", 5, 170)
	w.sends(w.brand("es", "social"), "relay", 8)
	w.fakes(24, w.brands, w.people)
}

// retired is Werner, who opens every message, and answers some days later.
func retired(w *world) {
	w.owner("Werner", "Hartmann", "w.hartmann@wolkenpost.example", "de", lookText, habits{
		hours: []float64{9, 16.5}, skipsDay: 0.15, answers: 0.7, wait: 20, opensAll: true,
		stars: 0.05, bins: 0.3, cleans: 0.3, cleanDays: 25, archives: 0.05, files: 0.3, forwards: 0.02, noise: 0.03, takesOff: 0.4})
	w.trusted = w.person("de", "", anyLook)
	w.several(4, "de", "", "family", 24)
	w.several(7, "de", "", "friend", 16)
	w.several(4, "de", "", "forward", 24)
	w.several(1, "de", "", "landlord", 5)
	w.several(4, "de", "", "cold", 3)
	choir := w.brand("de", "charity")
	w.regular(choir, "club", 21)
	members := w.several(8, "de", "", "board", 5)
	w.circle(panel{kind: "club", members: members, rule: "board", length: 3.5, named: 0.2, cc: 0.5, answer: 0.5, wants: 0.5}, 16)
	list := w.brand("de", "list")
	w.circle(panel{kind: "mailing list", members: w.several(9, "de", "", "friend", 0.3), rule: "post", length: 3, named: 0.04, list: list, answer: 0.4}, 45)
	w.household("de", 0.9)
	w.regular(w.brand("de", "clinic"), "appoint", 18)
	w.regular(w.brand("de", "paper"), "awaited", 30)
	w.sends(w.brand("de", "office"), "official", 4)
	w.fakes(26, w.brands, w.people)
}
