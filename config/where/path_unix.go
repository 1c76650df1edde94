//go:build unix

package where

import "path"

// Package path/filepath is the same on Unix, and takes its time to get ready.
var (
	isAbs = path.IsAbs
	join  = path.Join
	dirOf = path.Dir
)
