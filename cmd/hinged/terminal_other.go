// SPDX-License-Identifier: Apache-2.0

//go:build !unix || aix || solaris

package main

import "errors"

// muteTerminal and flushTerminal can't be had here.
func muteTerminal(int) (restore func(), err error) { return nil, errors.ErrUnsupported }

func flushTerminal(int) error { return errors.ErrUnsupported }
