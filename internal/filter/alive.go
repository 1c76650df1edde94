// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"time"
)

// Learning stops without a sound when the owner's words do not reach the server, or are
// said in another way than hinged listens for. These are the signs of that.

const (
	// deafDays is after how many days of activity without a word from the owner
	// something must be wrong with how words are heard.
	deafDays = 14
	// unheardDays is on how many days the owner must have set or removed keywords that
	// mean nothing to hinged, and given no word since the first of them.
	unheardDays = 5
	// idleTime is for how long mail may come without any lesson, that of silence
	// included: longer than most holidays.
	idleTime = 30 * 24 * time.Hour
)

// silentLearning says in words that learning has stopped, and what to do; "" when it
// has not.
func (f *Status) silentLearning() string {
	a := &f.st.Account
	if a.Paused {
		return ""
	}
	if a.UnheardDays >= unheardDays {
		return fmt.Sprintf("learning has stopped: on %d days you set or removed keywords that hinged doesn't know (the last: %s), and since then it has seen no answer, star, mark, junk or deletion of yours; if you mark mail with such a keyword, name it in `mark` of the configuration",
			a.UnheardDays, a.UnheardFlag)
	}
	if deaf := a.ActiveDays - min(a.HeardDay, a.ActiveDays); deaf >= deafDays && a.Messages > a.HeardSeq {
		state := "learning has stopped"
		if a.LastLesson != 0 && a.LastArrival < a.LastLesson.Add(deafDays*24*time.Hour) {
			state = "hinged learns from your silence alone" // or from what is read
		}
		return fmt.Sprintf("%s: mail arrived and you were active on %d days, but hinged saw no answer, star, mark, junk or deletion of yours; is the folder with your sent mail watched, and does your mail program store its flags on the server?", state, deaf)
	}
	if since := max(a.LastLesson, a.Awaited); since != 0 && a.LastArrival >= since.Add(idleTime) {
		seen := "hinged saw nothing that you did with your mail"
		if a.LastActive > since {
			seen = "hinged saw no answer, star, mark, junk or deletion of yours"
		}
		return fmt.Sprintf("learning has stopped: mail came for %d days, hinged learnt nothing, and %s; does your mail program use IMAP and store its flags on the server, and are the folders watched that you use?",
			int(a.LastArrival.Time().Sub(since.Time())/(24*time.Hour)), seen)
	}
	return ""
}
