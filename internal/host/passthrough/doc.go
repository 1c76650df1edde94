// SPDX-License-Identifier: Apache-2.0

// Package passthrough copies a message with what was decided of it written at
// the head, as a filter of a mail server does.
//
//	message → without forged X-Hinged-… fields → with our two → message
//
// No other byte is changed, whatever the message is: no final line end, NULs, a
// carriage return alone, no header, no body, nothing. What decides is elsewhere;
// here is only what the filter writes.
package passthrough
