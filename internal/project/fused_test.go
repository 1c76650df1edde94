// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// Instructions that multiply and add with one rounding, and those that
// multiply, as the compiler writes them with -S for amd64 and arm64.
var (
	fusing      = regexp.MustCompile(`\t(VFN?M(ADD|SUB)\w*|FN?M(ADD|SUB)[SD])\t`)
	multiplying = regexp.MustCompile(`\t(V?MULSD|FMULD)\t`)
	beginning   = regexp.MustCompile(`^\S+ STEXT `)
)

// compiled is what the compiler wrote for some packages.
type compiled struct {
	functions, products int
	fused               []string // with file and line
}

// assemble compiles packages in dir for a processor that could fuse.
func assemble(t *testing.T, dir, arch string, packages ...string) compiled {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-gcflags=-S"}, packages...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v3", "GO111MODULE=on", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	var c compiled
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch line := lines.Bytes(); {
		case beginning.Match(line):
			c.functions++
		case multiplying.Match(line):
			c.products++
		case fusing.Match(line):
			c.fused = append(c.fused, string(line))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

// A compiler may round a*b+c once instead of twice, on some processors, unless
// the product is written float64(a*b). That it never did is seen in what it
// wrote, also where there is neither the processor nor an emulator to compare
// states.
func TestNoProductIsFusedWithASum(t *testing.T) {
	compiles(t)
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			c := assemble(t, root, arch, "./model", "./model/theory", "./featurize", "./store", "./internal/account/filter")
			for _, line := range c.fused {
				t.Error(line)
			}
			if c.functions < 100 || c.products < 10 {
				t.Errorf("saw %d functions and %d products: the compiler wrote something else than expected", c.functions, c.products)
			}
		})
	}
}

func TestAFusedProductIsSeen(t *testing.T) {
	compiles(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module fuse\n\ngo 1.26\n",
		"fuse.go": `package fuse

func Fused(a, b, c float64) float64   { return a*b + c }
func Halved(a, b float64) float64     { return a + (b-a)/2 }
func Rounded(a, b, c float64) float64 { return float64(a*b) + c }
`,
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, arch := range []string{"amd64", "arm64"} {
		c := assemble(t, dir, arch, ".")
		if len(c.fused) != 2 || c.products != 1 || c.functions != 3 {
			t.Errorf("%s: saw %d functions, %d products, fused %q; want 3, 1, and two fused ones", arch, c.functions, c.products, c.fused)
		}
	}
}
