// SPDX-License-Identifier: Apache-2.0

// Package host is the ground floor: what hinged asks of the machine it runs on. Each folder in it
// is one small thing that knows nothing of mail: a memory limit, the service manager, addresses
// of this machine, a file put in place whole, a secret that only passes through, time zones.
//
// Everybody may import from here. What is here imports nothing of ours.
package host
