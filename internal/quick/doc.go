// Package quick is the short way of `hinged classify` from a mail filter's
// standard input to the daemon's answer.
//
// A mail server starts one process for each message. What such a process costs is
// mostly what Go does before main: the packages that all verbs together import
// take longer to get ready than the daemon takes to decide. But Go initialises
// packages in the order of their import paths, each as soon as those that it
// imports are ready (The Go Programming Language Specification, "Package
// initialization"). So the work is done here in an init function, and here only:
// this package imports next to nothing, comes before nearly all others, and ends
// the process when it has answered. Measured, it doubles the messages a second;
// docs/results.md has the figures and docs/decisions.md what else was tried.
//
// Whatever is not plain (other flags than those of a filter, files, a long
// message, no daemon, a daemon that answers with an error) is left to the long
// way, which begins at main and takes over what was read of standard input. Both
// ways answer alike, which the tests of cmd/hinged hold them to. Where Go should
// order packages otherwise, nothing is lost but time.
package quick
