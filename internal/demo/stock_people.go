// SPDX-License-Identifier: Apache-2.0

package demo

// letters are what people write.
var letters = []stock{
	{
		name: "boss", weight: 5, important: true, threads: 45, answers: 45,
		people:   []person{{"Ada Thorn", "ada.thorn@larkfield.example"}},
		greeting: []string{"Nora,", "Hi Nora,", "Morning Nora,"}, farewell: []string{"Ada", "Thanks, Ada", "A."},
		subjects: []string{"{object} for the {span}", "Budget for the {span}", "Can you take the {town} meeting?", "Before {day}: the {span} offer", "Your report on the {object}"},
		sentences: []string{
			"Could you look at the figures for the {span} before {day}?", "The council wants a firm price for the {object} by {day}.",
			"I need your view before I sign the contract.", "Can we move the site meeting in {town} to {day}?",
			"Please send me the drawing with the revised {object}.", "We are about {n} percent over budget and I would like to know why.",
			"If the supplier slips again we have to tell the client ourselves.", "You have my approval up to the amount that we discussed.",
			"Call me when you have read it.", "I will be in {town} until {day}, so mail is best.",
		},
	},
	{
		name: "colleague", weight: 7, important: true, threads: 50, answers: 40,
		people: []person{
			{"Milo Reyes", "milo.reyes@larkfield.example"}, {"Tilde Brandt", "tilde.brandt@larkfield.example"},
			{"Jun Hale", "jun.hale@larkfield.example"},
		},
		greeting: []string{"Hi Nora,", "Hej Nora,", "Nora, quick one:"}, farewell: []string{"Cheers", "Milo sends his best too", "See you at lunch", "Thanks"},
		subjects: []string{"Question about the {object}", "{span}: which {object}?", "Drawing {n} of the {span}", "Crane on {day}?", "Survey of the {span}"},
		sentences: []string{
			"Which {object} did we agree on for the {span}?", "The drawing says {n} millimetres and the survey says something else.",
			"Could you check my calculation of the {object} before I send it out?", "The crane can come on {day} if you confirm today.",
			"I measured it twice and the deck is {n} millimetres low at the east end.", "The welder asks whether the inspection can wait until {day}.",
			"Do you still have the permit for {town}?", "I left the marked drawing on your desk.",
			"Without your yes I cannot order the {object}.", "Shall I drive or will you?",
		},
	},
	{
		name: "note to everybody", weight: 7, reads: 50, to: everybody,
		people: []person{
			{"Ada Thorn", "ada.thorn@larkfield.example"}, {"Milo Reyes", "milo.reyes@larkfield.example"},
			{"Reception", "reception@larkfield.example"}, {"Tilde Brandt", "tilde.brandt@larkfield.example"},
		},
		greeting: []string{"Hello everybody,", "Dear all,", "All,"}, farewell: []string{"Thanks all", "Have a good week"},
		subjects: []string{"Kitchen rota", "Parking on {day}", "Cake in the kitchen", "Lost: a {goods}", "Fire drill on {day}", "Summer party", "Printer on the second floor"},
		sentences: []string{
			"There is cake in the kitchen, first come first served.", "The car park is closed on {day} because of the road works.",
			"Somebody left a {goods} in the meeting room.", "Please empty the dishwasher when it is full.",
			"The fire drill is on {day} at ten; leave the building by the stairs.", "The printer on the second floor is out of order again.",
			"Sign up for the summer party by {day} on the list at reception.", "No answer needed.",
			"The coffee machine will be serviced this week.", "Do not forget to fill in your time sheets.",
		},
	},
	{
		name: "for information", weight: 7, cc: true, reads: 35, threads: 40,
		people: []person{
			{"Milo Reyes", "milo.reyes@larkfield.example"}, {"Jun Hale", "jun.hale@larkfield.example"},
			{"Depot", "depot@larkfield.example"},
		},
		greeting: []string{"Hi Tilde,", "Hello,", "FYI"}, farewell: []string{"Regards", "Jun", "/M"},
		subjects: []string{"FYI: delivery of {object}", "Depot stock list", "Van {n} is back", "Weekly hours", "Order {order} has left"},
		sentences: []string{
			"For your information only.", "The delivery of the {object} left the depot this morning.", "Van {n} is back from the garage.",
			"The stock list of this week is attached to the board in the depot.", "Weekly hours are entered.",
			"Nothing has changed since last week.", "Order {order} is complete and on the shelf.", "Copy to Nora for the file.",
		},
	},
	{
		name: "customer", weight: 5, important: true, threads: 45, answers: 55,
		people: []person{
			{"Rosalind Okoye", "r.okoye@easton-council.example"}, {"Works Office Easton", "works@easton-council.example"},
		},
		greeting: []string{"Dear Ms Vale,", "Dear Nora,"}, farewell: []string{"Kind regards, R. Okoye", "Yours sincerely"},
		subjects: []string{"{span}: complaint about the {object}", "Offer for the {span}", "Inspection date for {town}", "Contract for the {span}, clause {n}"},
		sentences: []string{
			"The residents complain about the {object}; when can somebody come?", "Please confirm the inspection on {day}.",
			"We have two questions on clause {n} of the contract.", "The offer must reach us by {day} to be considered.",
			"Could you send the certificate for the {object} once more?", "The committee has approved the {span}.",
			"Who is responsible for the closure of the path during the works?", "We would like a meeting in {town} this week.",
		},
	},
	{
		name: "German customer", weight: 5, important: true, threads: 45, answers: 50, since: 8,
		people:   []person{{"Jörg Ostmann", "j.ostmann@ostwerk.example"}, {"Käthe Brühl", "k.bruehl@ostwerk.example"}},
		greeting: []string{"Sehr geehrte Frau Vale,", "Liebe Frau Vale,"}, farewell: []string{"Mit freundlichen Grüßen\nJörg Ostmann", "Viele Grüße aus Ostwick"},
		subjects: []string{"Angebot für die Fußgängerbrücke", "Prüfung der Brücke in Ostwick", "Frage zum Geländer", "Termin am Bauplatz", "Rückfrage zur Zeichnung {n}"},
		sentences: []string{
			"Könnten Sie uns bis Freitag ein Angebot für das Geländer schicken?", "Die Prüfung der Brücke ist für nächste Woche vorgesehen.",
			"Auf Zeichnung {n} fehlt das Maß der Auflager.", "Bitte bestätigen Sie den Termin am Bauplatz.",
			"Wir brauchen Ihre Unterschrift auf dem Vertrag.", "Der Prüfer hat zwei Fragen zu den Schrauben.",
			"Wann kommt die Lieferung der Bohlen?", "Für Rückfragen erreichen Sie mich im Büro.",
		},
	},
	{
		name: "Spanish partner", weight: 4, important: true, threads: 40, answers: 40, since: 18,
		people:   []person{{"Begoña Ibarra", "begona@puertoclaro.example"}},
		greeting: []string{"Hola Nora:", "Buenos días, Nora:"}, farewell: []string{"Un saludo, Begoña", "Gracias y hasta pronto"},
		subjects: []string{"Pasarela del puerto: planos", "Presupuesto de la barandilla", "Reunión del jueves", "Plazo de entrega"},
		sentences: []string{
			"¿Puedes enviarme los planos de la pasarela antes del jueves?", "El presupuesto de la barandilla necesita tu firma.",
			"La reunión con la autoridad portuaria es el jueves a las diez.", "¿Cuándo llega el acero al puerto?",
			"El ingeniero pregunta por la carga máxima.", "Necesitamos una respuesta esta semana.", "Te llamo mañana si te parece bien.",
		},
	},
	{
		name: "family", weight: 6, important: true, threads: 45, answers: 50,
		people: []person{
			{"Ines Vale", "ines@vale.example"}, {"Papa", "henri@vale.example"}, {"Théo", "theo@vale.example"},
		},
		greeting: []string{"Nora!", "Salut Nora,", "Hi big sister,"}, farewell: []string{"Bises", "Love, Ines", "xx"},
		subjects: []string{"Sunday lunch", "Papa's birthday", "Le train de {day}", "Keys of the cottage", "Photos du jardin", "Can you pick up Théo on {day}?"},
		sentences: []string{
			"Are you coming on Sunday? Papa is cooking.", "Le train arrive à {n} heures, tu viens me chercher ?", "Can you bring the keys of the cottage?",
			"Théo asks whether you will come to the concert on {day}.", "On mange à midi, comme toujours.", "Did you find the photos of the garden?",
			"Maman would have liked this one.", "Call me tonight, it is about the doctor.", "J'ai encore tes livres.", "What shall we give him this year?",
		},
	},
	{
		name: "chain mail", weight: 3, reads: 25, html: 40,
		people:   []person{{"Uncle Bert", "bert@vale.example"}, {"Ines Vale", "ines@vale.example"}},
		greeting: []string{"Too funny:", "Look at this!", "Fwd"}, farewell: []string{"Bert", "Send it on to ten friends"},
		subjects: []string{"Fwd: Fwd: the cat and the piano", "Fwd: ten signs that you need a holiday", "Fwd: Fwd: Fwd: you will laugh", "Fwd: only people born before 1985"},
		sentences: []string{
			"Watch what the cat does at the end.", "Only people born before 1985 will understand this.", "Number seven will surprise you.",
			"Do not break the chain.", "I laughed for ten minutes.", "The video is at the usual place.",
		},
	},
	{
		name: "school", weight: 3, important: true, answers: 20, threads: 15,
		people:   []person{{"Greta Lindahl", "greta.lindahl@school-millford.example"}, {"School Office", "office@school-millford.example"}},
		greeting: []string{"Dear parents of Théo,", "Dear Ms Vale,"}, farewell: []string{"Greta Lindahl, class 4b", "The school office"},
		subjects: []string{"Class trip on {day}", "Parents' evening", "Théo: swimming certificate", "No lessons on {day}"},
		sentences: []string{
			"The class trip starts at {n} minutes past eight on {day}.", "Please sign the form and send it back with Théo.",
			"There are no lessons on {day} afternoon.", "Parents' evening is in room {n}.", "Théo has forgotten his swimming things again.",
			"Please let us know whether he will eat at school.",
		},
	},
	{
		name: "steel list", weight: 10, threads: 75, answers: 7, reads: 15, list: "steel-talk.lists.example.net",
		to: "steel-talk@lists.example.net",
		people: []person{
			{"Wim de Groot", "wim@stalen.example"}, {"Aoife Byrne", "aoife.byrne@welding.example"}, {"P. Halloran", "halloran@rivets.example"},
			{"Zdeněk Malý", "zdenek@ocel.example"},
		},
		greeting: []string{"Hello list,", "Hi all,", ""}, farewell: []string{"Wim", "-- \nAoife", "Regards from the workshop"},
		subjects: []string{"[steel-talk] Torque of {n} mm bolts", "[steel-talk] Galvanised or painted?", "[steel-talk] Weld inspection in the rain", "[steel-talk] Old rivets", "[steel-talk] Which grade for a {span}?"},
		sentences: []string{
			"We use {n} millimetre bolts and never had one come loose.", "Hot-dip galvanising beats any paint near salt water.",
			"The standard says otherwise, but the standard was written indoors.", "Has anybody measured the torque after a winter?",
			"I would grind it out and weld it again.", "The old rivets are better than what replaces them.",
			"See the table in the second edition.", "Ultrasound will find it, the eye will not.", "In my workshop we do it the other way round.",
		},
	},
	{
		name: "map project", weight: 9, threads: 75, answers: 6, reads: 15, list: "trailmaps-dev.lists.example.net",
		to: "trailmaps-dev@lists.example.net",
		people: []person{
			{"Kwame Addo", "kwame@trails.example"}, {"lin-fu", "linfu@contour.example"}, {"Sanna Koski", "sanna@metsa.example"},
		},
		greeting: []string{"Hi,", "", "Hello all,"}, farewell: []string{"Kwame", "- lin-fu", "Sanna"},
		subjects: []string{"[trailmaps] {noun}: wrong scale", "[trailmaps] Patch for the {noun}", "[trailmaps] Release on {day}?", "[trailmaps] Tests of the {noun} fail"},
		sentences: []string{
			"The {noun} draws the contour lines at the wrong scale.", "I pushed a branch that fixes the {noun}.", "The tests fail on a machine with little memory.",
			"Can somebody review this before the release?", "It works here with the old tile format.", "We should drop support for the old projection.",
			"Attached is a trace of the crash.", "Rebased, please look again.", "The cache grows without bound after {n} requests.",
		},
	},
}
