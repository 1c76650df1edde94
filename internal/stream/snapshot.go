package stream

import (
	"context"

	"github.com/hinged/hinged/store"
)

func (p *partition) newestSnapshot(context.Context) (*store.PartitionInfo, error) { return nil, nil }
func (p *partition) restore(context.Context, bool) error                          { return nil }
func (p *partition) fetchState(context.Context, string) error                     { return nil }
func (p *partition) fetchLogs(context.Context, string) error                      { return nil }
func (p *partition) snapshotIfDue(context.Context)                                {}
