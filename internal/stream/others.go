// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// othersEvery is how often the members of the group are asked for their settings.
const othersEvery = 30 * time.Second

// OtherSettings says what is wrong with a group that has such members.
func OtherSettings(members []string) string {
	return "the group has members with other settings, which judge the accounts of their partitions differently: " +
		strings.Join(members, ", ") + "; give all processes of the group the same [kafka]"
}

// watchOthers says in the log and in the status whether a member of the group has other
// settings, until ctx is done.
func (e *Engine) watchOthers(ctx context.Context) {
	broker, ok := e.o.Broker.(interface { // not that of a replay
		OtherSettings(ctx context.Context) ([]string, error)
	})
	for ok {
		members, err := broker.OtherSettings(ctx)
		problem := ""
		if len(members) > 0 {
			problem = OtherSettings(members)
		}
		e.mu.Lock()
		news := err == nil && problem != e.others
		if news {
			e.others = problem
		}
		e.mu.Unlock()
		if news {
			e.log.Warn("the settings of the group's members", "problem", cmp.Or(problem, "none any more"))
		}
		if wait(ctx, othersEvery) != nil {
			return
		}
	}
}
