// SPDX-License-Identifier: Apache-2.0

package persons

// office is Daniel, who works in a company in English.
func office(w *world) {
	w.owner("Daniel", "Mercer", "daniel.mercer@harrowgate-foods.example", "en", lookOutlook, habits{
		hours: []float64{8.5, 9.7, 11, 13.2, 14.5, 16, 17.2}, skipsDay: 0.15, answers: 0.9, wait: 3, opens: 0.3, clears: 0.25,
		stars: 0.04, bins: 0.2, cleans: 0.35, cleanDays: 14, archives: 0.3, files: 0.2, forwards: 0.04, noise: 0.03, takesOff: 0.3})
	const firm = "harrowgate-foods.example"
	team := w.several(12, "en", firm, "work", 24)
	project := w.several(3, "en", firm, "work", 30, 170) // a new project
	w.trusted = team[0]
	w.several(6, "en", firm, "fyi", 24)
	w.circle(panel{kind: "team", members: team, rule: "work", length: 3, named: 0.12, cc: 0.8, answer: 0.7}, 55)
	w.circle(panel{kind: "team", members: append(project, team[:3]...), rule: "work", length: 3.5, named: 0.25, cc: 0.5, answer: 0.7, wants: 0.2}, 40, 170)
	for _, c := range team[:5] {
		w.invites(c, team, 13, 0.1)
	}
	w.invites(project[0], team, 26, 0.05, 170)
	w.invites(w.person("en", firm, lookOutlook), team, 26, 1)
	w.convenes(team, 14)
	w.several(3, "en", "finch-logistics.example", "client", 10)
	w.several(2, "en", "copperfield-print.example", "supplier", 10, 0, 150)
	w.several(7, "en", "", "cold", 9)
	w.several(3, "en", "talent-brook.example", "recruit", 5)
	desk := w.brand("en", "software")
	w.sends(desk, "assigned", 60)
	w.sends(desk, "ticket", 190)
	docs := w.brand("en", "software")
	w.sends(docs, "shared", 22)
	w.sends(docs, "edits", 50)
	w.sends(w.brand("en", "software"), "esign", 5)
	w.sends(w.brand("en", "telecom"), "voicemail", 14)
	w.regular(w.brand("en", "software"), "report", 5)
	w.public("en", 0.45)
	w.sends(w.brand("en", "charity"), "webinar", 12)
	rail := w.brand("en", "travel")
	w.sends(rail, "travel", 16)
	w.sends(rail, "marketing", 20)
	w.sends(w.brand("en", "energy"), "bill", 4)
	w.fakes(30, w.brands, w.people)
}

// shop is Beate, who sells and mends goods in a small town and by web; she answers half.
func shop(w *world) {
	w.owner("Beate", "Kröger", "laden@kroeger-lederwaren.example", "de", lookText, habits{
		hours: []float64{8.2, 12.8, 15.2, 18.4, 20.5}, skipsDay: 0.12, answers: 1.05, wait: 5, opens: 0.3, clears: 0.1,
		stars: 0.03, bins: 0.35, cleans: 0.4, cleanDays: 10, archives: 0.35, files: 0.15, noise: 0.03, takesOff: 0.3})
	w.also = []string{"beate@kroeger-lederwaren.example"}
	// Most customers write once or twice.
	for i := range 150 {
		lang := "de"
		if i%6 == 5 {
			lang = "en"
		}
		w.talks(w.person(lang, "", anyLook), "customer", 2.2)
	}
	w.several(6, "de", "", "customer", 16)
	w.several(5, "de", "gerberei-falk.example", "supplier", 16)
	w.several(1, "en", "tannery-oak.example", "supplier", 24, 150) // a new supplier
	w.several(3, "de", "", "family", 18)
	w.several(3, "de", "", "friend", 8)
	w.several(1, "de", "", "landlord", 5)
	w.several(1, "de", "steuer-reuter.example", "client", 16)
	w.several(12, "de", "", "cold", 14)
	w.several(5, "en", "", "cold", 6)
	web := w.brand("de", "software")
	web.name, web.domain = "Kröger Lederwaren", "kroeger-lederwaren.example"
	w.sends(web, "form", 70)
	w.sends(web, "formspam", 60)
	market := w.brand("de", "shop")
	w.sends(market, "order", 90)
	w.sends(market, "review", 60)
	w.sends(market, "marketing", 20)
	w.regular(w.brand("de", "software"), "report", 7)
	for range 3 {
		b := w.brand("de", "shop") // wholesale
		w.sends(b, "bill", 9)
		w.sends(b, "shipped", 8)
		w.sends(b, "marketing", 26)
		w.sends(b, "reminder", 1.5)
	}
	bank := w.brand("de", "bank")
	w.sends(bank, "alert", 10)
	w.regular(bank, "statement", 10)
	w.regular(w.brand("de", "energy"), "bill", 30)
	w.regular(w.brand("de", "telecom"), "bill", 30)
	w.sends(w.brand("de", "parcel"), "parcel", 24)
	w.sends(w.brand("de", "travel"), "travel", 9)
	w.sends(w.brand("de", "office"), "official", 6)
	w.regular(w.brand("de", "charity"), "club", 40)
	w.public("de", 0.3)
	w.fakes(30, w.brands, w.people)
}

// official is Judith, councillor and head of a committee; she answers a third, the rest by
// telephone.
func official(w *world) {
	w.owner("Judith", "Amsel", "judith.amsel@council-weirbridge.example", "en", lookOutlook, habits{
		hours: []float64{7.5, 10.2, 13, 16.3, 21}, skipsDay: 0.2, answers: 0.95, wait: 16, opens: 0.4, clears: 0.1,
		stars: 0.05, bins: 0.12, cleans: 0.25, cleanDays: 30, archives: 0.2, files: 0.2, forwards: 0.08, noise: 0.04, takesOff: 0.3})
	for range 130 {
		w.talks(w.person("en", "", anyLook), "citizen", 2)
	}
	w.several(5, "en", "", "citizen", 18)
	const council = "council-weirbridge.example"
	board := w.several(10, "en", council, "board", 24)
	newer := w.several(3, "en", "riverside-scheme.example", "work", 26, 160) // a new scheme
	w.trusted = board[0]
	w.circle(panel{kind: "committee", members: board, rule: "board", length: 3.5, named: 0.2, cc: 0.5, answer: 0.55, wants: 0.5}, 50)
	w.circle(panel{kind: "committee", members: append(newer, board[:4]...), rule: "work", length: 3, named: 0.2, cc: 0.7, answer: 0.5, wants: 0.2}, 30, 160)
	w.several(5, "en", council, "fyi", 22)
	w.invites(board[1], board, 24, 0.1)
	w.invites(board[2], board, 18, 0.3)
	w.invites(newer[0], board, 18, 0.1, 160)
	w.several(4, "en", "", "friend", 9)
	w.several(3, "en", "", "family", 14)
	w.several(2, "de", "", "friend", 8)
	w.several(8, "en", "", "cold", 8)
	docs := w.brand("en", "software")
	w.sends(docs, "shared", 18)
	w.sends(docs, "edits", 30)
	w.sends(w.brand("en", "software"), "esign", 6)
	w.sends(w.brand("en", "school"), "deadline", 10)
	w.circle(panel{kind: "mailing list", members: w.several(9, "en", "", "friend", 0.3), rule: "post", length: 3, named: 0.06, list: w.brand("en", "list"), answer: 0.4}, 30)
	rail := w.brand("en", "travel")
	w.sends(rail, "travel", 14)
	w.sends(rail, "marketing", 14)
	w.sends(w.brand("en", "telecom"), "voicemail", 20)
	w.regular(w.brand("en", "telecom"), "bill", 30)
	for range 5 {
		w.regular(w.brand("en", "charity"), "newsletter", 14)
	}
	w.public("en", 0.4)
	w.fakes(24, w.brands, w.people)
}

// developer is Jan, whose program marks everything as read when it comes.
func developer(w *world) {
	w.owner("Jan", "Sievers", "jan@sievers-code.example", "en", lookText, habits{
		hours: []float64{9, 11.5, 14, 17, 22}, skipsDay: 0.15, answers: 0.85, wait: 5, opens: 0.3, marksAll: true,
		stars: 0.08, bins: 0.3, cleans: 0.4, cleanDays: 10, archives: 0.4, files: 0.15, noise: 0.03, takesOff: 0.5})
	hub := w.brand("en", "software")
	w.sends(hub, "pull", 260)
	w.sends(hub, "asked", 60)
	w.sends(hub, "failed", 50)
	w.sends(hub, "security", 6)
	list := w.brand("en", "list")
	w.circle(panel{kind: "mailing list", members: w.several(14, "en", "", "friend", 0.2), rule: "post", length: 3.5, named: 0.06, list: list, answer: 0.6}, 70)
	team := w.several(6, "en", "quaywork.example", "work", 30, 0, 190) // the old job
	w.several(6, "en", "lanternsoft.example", "work", 40, 180)         // the new one
	w.circle(panel{kind: "team", members: team, rule: "work", length: 3, named: 0.15, cc: 0.7, answer: 0.6}, 40, 0, 190)
	w.invites(team[0], team, 18, 0.1, 0, 190)
	w.several(3, "de", "", "family", 16)
	w.several(4, "de", "", "friend", 12)
	w.several(4, "en", "talent-brook.example", "recruit", 12)
	w.several(4, "en", "", "cold", 5)
	w.household("de", 0.35)
	w.regular(w.brand("de", "clinic"), "appoint", 80)
	w.regular(w.brand("en", "paper"), "awaited", 30)
	w.fakes(26, w.brands, w.people)
}
