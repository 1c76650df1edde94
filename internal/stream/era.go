// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store/boltfile"
)

// lastEra is the last era of a log of the input that a snapshot is of, whole or not.
func (v *vault) lastEra(topic kafka.TopicID) (era int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.eraOf(topic)
}

// eraOf is lastEra, while mu is held.
func (v *vault) eraOf(topic kafka.TopicID) (era int64) {
	for id := range v.manifests {
		if sameLog(id.topic, topic) {
			era = max(era, id.era)
		}
	}
	return era
}

// overtaken reports whether a local copy may be of an era that is over: a snapshot of a later
// one was written since it was last known that there is none, or that can't be told. It reads
// only what was written since.
func (v *vault) overtaken(ctx context.Context, local *boltfile.PartitionInfo) (bool, error) {
	id, first, end, err := v.bounds(ctx)
	if err != nil {
		return false, err
	}
	at := local.SnapshotsRead
	if id != local.SnapshotsID || at < first || at > end || at == 0 && end > 0 {
		return true, nil
	}
	later := false
	err = v.records(ctx, id, at, end, func(b *kafka.Batch) {
		for i := range b.Records {
			m, ok := manifestOf(b.Records[i].Key)
			later = later || ok && sameLog(m.topic, local.TopicID) && m.era > local.Era
		}
	})
	return later, err
}

// noteSnapshotsRead notes in the store up to where the snapshots topic was read, so that the
// next start has to read only what others wrote after that. It does not if there is a snapshot
// of a later era, which the next start must find.
func (p *partition) noteSnapshotsRead() {
	v := p.vault
	v.mu.Lock()
	id, at, era := v.id, v.at, v.eraOf(p.topic)
	v.mu.Unlock()
	if era > p.era {
		return
	}
	if err := p.file().NotePartition(func(i *boltfile.PartitionInfo) { i.SnapshotsID, i.SnapshotsRead = id, at }); err != nil {
		p.log.Debug("can't note how far the snapshots topic was read; the next start reads more of it", "error", err)
	}
}
