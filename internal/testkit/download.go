// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// download runs one of the scripts that fetch a server into the user's cache, once,
// and returns the path that the script prints.
func download(script string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = filepath.Join(root, ".bin")
	} else {
		cache = filepath.Join(cache, "hinged")
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(context.Background(), "sh", filepath.Join(root, "scripts", script), cache)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/%s: %w\n%s", script, err, said.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// needPrograms returns an error that names the first program that is missing, and
// what Debian calls the packages that have them.
func needPrograms(packages string, programs ...string) error {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("no %s program is on this machine (on Debian and Ubuntu: apt install %s)", program, packages)
		}
	}
	return nil
}
