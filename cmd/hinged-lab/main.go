// SPDX-License-Identifier: Apache-2.0

// Command hinged-lab is the laboratory of hinged: its learners on vectors and on archives
// of mail, beside the theory.
package main

import "github.com/hinged/hinged/internal/lab/verbs"

func main() { verbs.Main() }
