// SPDX-License-Identifier: Apache-2.0

// Package words says for people what features, scores and labels mean: a feature in plain
// words, what it is about, what a message can be recognised by, and why it matters or not.
// It also finds the features that a person's words may stand for, and lists those that name
// nobody.
//
// It reads the names of features alone, so a message whose names are not kept has no words.
// Nothing here decides or becomes state: featurize and internal/account/filter don't know this package.
package words
