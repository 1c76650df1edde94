// SPDX-License-Identifier: Apache-2.0

package demo

// machines are what programs, shops and swindlers send.
var machines = []stock{
	{
		name: "build failed", weight: 4, important: true, robot: true, since: 3,
		people:   []person{{"Larkfield CI", "ci@builds.larkfield.example"}},
		greeting: []string{""}, farewell: []string{"-- \nLarkfield CI"},
		subjects: []string{"FAILED: loadcalc #{build} (nora/{noun})", "FAILED again: loadcalc #{build} (nora/{noun})"},
		sentences: []string{
			"Build {build} of branch nora/{noun} has failed.", "Stage test: 1 of {n} tests failed.", "First failure since your commit.",
			"panic: index out of range in span.Load", "The log is at https://builds.larkfield.example/loadcalc/{build}", "Changes by: Nora Vale",
		},
	},
	{
		name: "build passed", weight: 11, robot: true, reads: 5, discards: 10,
		people:   []person{{"Larkfield CI", "ci@builds.larkfield.example"}},
		greeting: []string{""}, farewell: []string{"-- \nLarkfield CI"},
		subjects: []string{"passed: loadcalc #{build} (main)", "passed: drawings #{build} (main)", "nightly: loadcalc #{build}", "FAILED: drawings #{build} (jun/{noun})"},
		sentences: []string{
			"Build {build} of branch main has passed.", "All {n} tests passed.", "Nightly build, no changes since yesterday.",
			"Artifacts are kept for {n} days.", "The log is at https://builds.larkfield.example/drawings/{build}", "Changes by: Jun Hale",
		},
	},
	{
		name: "invoice", weight: 4, important: true, html: 50, answers: 8, since: 5,
		people: []person{
			{"Finley Steel Accounts", "accounts@finleysteel.example"}, {"Harbour Power", "billing@harbourpower.example"},
			{"Crane Hire Grenby", "invoices@cranehire.example"},
		},
		greeting: []string{"Dear customer,", "Dear Ms Vale,"}, farewell: []string{"Accounts department"},
		subjects: []string{"Invoice {order}, due on {day}", "Second reminder: invoice {order}", "Your bill of {amount} EUR", "Invoice {order} for the {object}"},
		sentences: []string{
			"Please find the invoice {order} for the {object} below.", "Amount due: {amount} EUR.", "Payment is due on {day}.",
			"We have not yet received your payment.", "A late fee applies after {n} days.", "Please quote the invoice number {order}.",
		},
	},
	{
		name: "shop", weight: 11, bulk: true, html: 85, reads: 12, discards: 15,
		people: []person{
			{"Bramble & Co", "orders@bramble-shop.example"}, {"Parcelline", "noreply@parcelline.example"}, {"Kettle House", "service@kettlehouse.example"},
		},
		greeting: []string{"Hello Nora,", "Thank you for shopping with us"}, farewell: []string{"Your Bramble team", "This mailbox is not read"},
		subjects: []string{"Your order {order}: {goods}", "Receipt for {order}", "Your parcel arrives on {day}", "How was your {goods}?", "Order {order} has been delivered"},
		sentences: []string{
			"Your {goods} is on its way.", "Total: {amount} EUR, paid by card.", "Your parcel {order} will arrive on {day}.",
			"Rate your {goods} with one click.", "Your receipt is below.", "You can return it within {n} days.", "Track your parcel in the app.",
		},
	},
	{
		name: "newsletter", weight: 19, bulk: true, html: 90, reads: 6, discards: 25,
		people: []person{
			{"The Daily Span", "news@dailyspan.example"}, {"Cloudwear", "hello@cloudwear.example"}, {"Fjäll & Fritid", "nyheter@fjallfritid.example"},
			{"Brücken heute", "redaktion@brueckenheute.example"}, {"Points Club", "club@pointsclub.example"},
		},
		greeting: []string{"Hi Nora", "Good morning!", "Hej!", ""}, farewell: []string{"You receive this because you once bought something", "Unsubscribe below"},
		subjects: []string{
			"{percent} % off everything until {day}", "This week: {n} bridges to see", "Nyheter för vandraren", "Der Newsletter für Brückenfreunde",
			"Your points expire on {day}", "New: the {goods}", "Five questions to a bridge builder",
		},
		sentences: []string{
			"Save {percent} % on every {goods} until {day}.", "Only for members: free shipping this week.", "Upptäck vårens nyheter för dig som vandrar.",
			"Diese Woche: die schönsten Brücken am Fluss.", "Your points expire soon, use them on a {goods}.", "Read the interview on our site.",
			"New arrivals in our shop.", "Rea på utvalda kängor och jackor.", "Click here to see it in your browser.",
		},
	},
	{
		name: "notification", weight: 10, robot: true, bulk: true, html: 70, reads: 8, discards: 20,
		people: []person{
			{"Ropebook", "notify@ropebook.example"}, {"Larkfield Calendar", "calendar@larkfield.example"}, {"Bank of Amble", "info@bankofamble.example"},
		},
		greeting: []string{"Nora,", ""}, farewell: []string{"Change what you hear about in your settings"},
		subjects: []string{"{n} people viewed your profile", "Reminder: {day} stand-up", "Your statement is ready", "Jun liked your photo", "You have {n} new suggestions"},
		sentences: []string{
			"{n} people have viewed your profile this week.", "This is a reminder of the stand-up on {day}.", "Your monthly statement is ready in the app.",
			"Jun and {n} others liked your photo.", "See who is new in your area.", "You do not have to do anything.",
		},
	},
	{
		name: "security alert", weight: 2, important: true, robot: true, since: 12,
		people:   []person{{"Bank of Amble", "security@bankofamble.example"}, {"Larkfield IT", "it@larkfield.example"}},
		greeting: []string{"Dear Nora Vale,"}, farewell: []string{"Larkfield IT, extension {n}", "Bank of Amble"},
		subjects: []string{"Sign-in from a new device", "Your password ends on {day}", "Payment of {amount} EUR waits for your approval", "Your laptop must be updated by {day}"},
		sentences: []string{
			"There was a sign-in to your account from a new device in {town}.", "If this was not you, call us at once.", "Your password ends on {day}; change it at your desk.",
			"A payment of {amount} EUR to Finley Steel waits for your approval.", "Your laptop lacks an update and will be locked out on {day}.",
		},
	},
	{
		name: "spam", weight: 14, spam: true, bulk: true, html: 60,
		people: []person{
			{"Prize Office", "winner@lucky-draw.example"}, {"Dr. Cornelius Mensah", "cmensah@inheritance.example"}, {"PILLS 4 LESS", "deal@pharm-sale.example"},
			{"account-service", "service@verify-now.example"}, {"限定セール", "info@otoku.example"}, {"Nora Vale", "noreply@mailbox-quota.example"},
		},
		greeting: []string{"Dear friend,", "Dear beneficiary,", "ATTENTION!!!", "お客様"}, farewell: []string{"Act now", "Yours in trust", "今すぐクリック"},
		subjects: []string{
			"You have WON {amount} 000 USD", "Your mailbox is FULL", "confidential business proposal", "本日限定 {percent}％オフ", "V1agra {percent}% off", "URGENT: verify your account",
		},
		sentences: []string{
			"You have been selected to receive {amount} 000 dollars.", "Verify your account within {n} hours or lose it.", "The late minister left a fortune and no heir.",
			"Cheap p1lls, no prescription, {percent} % off.", "本日限り、全品{percent}％オフ。", "Click the link and enter your password.",
			"This offer is 100% risk free!!!", "Kindly send your bank details.",
		},
	},
}
