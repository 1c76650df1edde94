// SPDX-License-Identifier: Apache-2.0

package memlimit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheLeastLimitOfAllCgroupsCounts(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
		err   string
	}{
		"no cgroups":                  {nil, 0, ""},
		"version 2":                   {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 1000, ""},
		"version 2, the one above":    {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/memory.max": "900\n"}, 900, ""},
		"version 2, none":             {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 0, ""},
		"version 2, in a container":   {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20, ""},
		"version 1":                   {map[string]string{"proc/self/cgroup": "4:cpu:/x\n3:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "2000\n"}, 2000, ""},
		"version 1, path of the host": {map[string]string{"proc/self/cgroup": "3:hugetlb,memory:/docker/1234\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "3000\n"}, 3000, ""},
		"version 1, none":             {map[string]string{"proc/self/cgroup": "3:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0, ""},
		"both":                        {map[string]string{"proc/self/cgroup": "3:memory:/a\n0::/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "2000\n"}, 2000, ""},
		"nonsense":                    {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "much\n"}, 0, `"much" is no number of bytes`},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for path, text := range c.files {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Container(root)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("limit %d, %v; want %d", got, err, c.want)
			}
		})
	}
}
