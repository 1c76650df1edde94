//go:build !unix

package where

import "path/filepath"

var (
	isAbs = filepath.IsAbs
	join  = filepath.Join
	dirOf = filepath.Dir
)
