// SPDX-License-Identifier: Apache-2.0

// Package persons makes up private mailboxes: what comes, what its owner wants of it, and
// what the owner does with it. All people, companies and addresses are invented (.example).
//
// A life comes from a name and a seed alone: there is no clock. A person's senders, their
// rates and the owner's habits stand in text/cast.txt; each sender has a random
// stream of its own. Text comes from a grammar for each language (text/*.txt), in which
// wanted and unwanted mail share topics and words; render.go and html.go write it as real
// programs do.
//
//	person     writes          machine mail  answered  wanted  what is particular
//	family     German, English      80 %       10 %     31 %   a freelancer with children, school, clients
//	office     English              65 %       12 %     31 %   meetings, threads in Cc, tickets, documents
//	phone      never                88 %        0       26 %   reads on a phone, bins much, stars little
//	shop       German, English      40 %       41 %     62 %   customers who write once, forms, orders
//	student    Spanish              82 %        6 %     26 %   university, teachers, fellow students
//	official   English, German      35 %       31 %     53 %   citizens and a committee; much is done by telephone
//	retired    German               76 %        6 %     28 %   opens everything, answers after days, clubs, a list
//	developer  German, English      73 %        8 %     30 %   the program marks all as read; code review, a list
//
// The shares are of the mail of others in 1,520 messages; they differ by some hundredths from
// seed to seed.
//
// Wanted is personal mail that concerns the owner, what asks something of the owner, bills,
// deadlines, security notes, travel, doctors, school and the like. It isn't what a sender
// looks like: the same company sends bills and advertisements, often from one address;
// bills of some companies carry List-Unsubscribe; a club writes by a mailing service; one
// newsletter is waited for and another only liked; colleagues send what concerns nobody;
// strangers who sell write as friends do. In a thread of several people only what speaks to
// the owner is wanted, and by its words it differs in a name. About 3 % of ordinary wanted
// mail isn't wanted this time, and a little advertising is.
//
// What the owner does isn't what the owner wants. The owner looks into the mailbox in
// sessions, opens most wanted mail and some of the rest, puts some off, answers a part at
// once and a part after hours or days, stars few, deletes in the session or in clean-ups
// together with much else, archives, files, passes on. 3 to 4 % of the acts are contrary.
// Some answers are written on another device: the mailbox sees only that the other comes
// back. Nothing is done after a move.
//
// Within the last 200 days of a life each person has changes: a new job or project, a new
// friend or shop, a subscription that ends; and somebody new writes in the last six weeks.
//
// Known limits: no picture carries text, no mail is encrypted, no one changes their name, and
// nobody writes a long letter.
package persons
