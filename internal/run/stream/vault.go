// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/snapshot"
)

// vault is one partition of the snapshots topic, as far as it was read: which
// manifests and chunks are there. Safe for concurrent use.
//
// Keys are "manifest/" with the id of the input topic in 32 hexadecimal digits, a slash
// and the position in 16, and if the era is not 0 a slash and the era in as many; and "chunk/"
// with the chunk's ID. A record without a value takes back those before it with the same key.
type vault struct {
	broker    Broker
	topic     string
	partition int32

	// scanning is held while the topic is read on.
	scanning sync.Mutex

	mu        sync.Mutex
	id        kafka.TopicID // of the snapshots topic; zero: not known yet
	at        int64         // what lies before it is known
	read      time.Time     // when that was
	chunks    map[snapshot.ChunkID]place
	manifests map[manifestID]*found
	spoilt    map[int64]bool // offsets of manifests and chunks that are not what their keys say
	// windows are the chunks that came with those fetched last, the newest first: the
	// chunks of one account lie together. Several accounts may be fetched at once.
	windows []map[snapshot.ChunkID][]byte
	kept    int // how many of them
}

// manifestID names a snapshot: of which log of the input it is, and up to where.
type manifestID struct {
	topic     kafka.TopicID
	next, era int64 // as in store.LogPosition
}

func manifestIDOf(at store.LogPosition) manifestID {
	return manifestID{at.TopicID, at.Next, at.Era}
}

// compareIDs orders the snapshots of one log by their era, and then by how much was read.
func compareIDs(a, b manifestID) int {
	return cmp.Or(cmp.Compare(a.era, b.era), cmp.Compare(a.next, b.next))
}

// place is where a chunk is.
type place struct {
	offset  int64
	written time.Time
}

// found is a manifest that was found, decoded when that is first asked for; mu of the
// vault guards that field.
type found struct {
	offset   int64
	data     []byte
	written  time.Time
	manifest *snapshot.Manifest
}

const (
	manifestPrefix = "manifest/"
	chunkPrefix    = "chunk/"
)

func manifestKey(m manifestID) []byte {
	key := fmt.Appendf(nil, "%s%x/%016x", manifestPrefix, m.topic[:], m.next)
	if m.era != 0 {
		key = fmt.Appendf(key, "/%016x", m.era)
	}
	return key
}

// manifestOf is the manifest that a key names, if it names one.
func manifestOf(key []byte) (m manifestID, ok bool) {
	name, ok := bytes.CutPrefix(key, []byte(manifestPrefix))
	parts := strings.Split(string(name), "/")
	if !ok || len(parts) < 2 || len(parts) > 3 || len(parts[0]) != 2*len(m.topic) {
		return m, false
	}
	_, bad := hex.Decode(m.topic[:], []byte(parts[0]))
	var numbers [2]int64
	for i, part := range parts[1:] {
		var err error
		numbers[i], err = strconv.ParseInt(part, 16, 64)
		bad = errors.Join(bad, err)
	}
	m.next, m.era = numbers[0], numbers[1]
	return m, bad == nil && bytes.Equal(manifestKey(m), key)
}

func chunkKey(id snapshot.ChunkID) []byte {
	return fmt.Appendf(nil, "%s%s", chunkPrefix, id)
}

// chunkOf is the chunk that a key names, if it names one.
func chunkOf(key []byte) (id snapshot.ChunkID, ok bool) {
	name, ok := bytes.CutPrefix(key, []byte(chunkPrefix))
	if !ok || len(name) != 2*len(id) {
		return id, false
	}
	_, err := hex.Decode(id[:], name)
	return id, err == nil
}

// ErrGone is wrapped when a chunk is no longer in the snapshots topic.
var ErrGone = errors.New("a chunk of the snapshot is gone")

func newVault(b Broker, topic string, partition int32) *vault {
	return &vault{
		broker: b, topic: topic, partition: partition,
		chunks: map[snapshot.ChunkID]place{}, manifests: map[manifestID]*found{}, spoilt: map[int64]bool{},
	}
}

// forgetAfter is how old what is known of the topic may be and still be added to:
// brokers keep a tombstone for a day before nobody can tell any more that there
// was one.
const forgetAfter = time.Hour

// scan reads on to the end of the topic.
func (v *vault) scan(ctx context.Context, now time.Time) error {
	v.scanning.Lock()
	defer v.scanning.Unlock()
	return v.readOn(ctx, now, func(*kafka.Record) {})
}

// readOn is scan, which calls look with each record before it is noted. scanning is held.
func (v *vault) readOn(ctx context.Context, now time.Time, look func(*kafka.Record)) error {
	id, first, end, err := v.bounds(ctx)
	if err != nil {
		return err
	}
	v.mu.Lock()
	another := v.at > end || !sameLog(id, v.id)
	if v.id = id; another {
		clear(v.spoilt) // it is another topic of that name
		v.windows = nil
	}
	if another || v.at < first || now.Sub(v.read) > forgetAfter {
		clear(v.chunks)
		clear(v.manifests)
		v.at = first
	}
	v.read = now
	at := v.at
	v.mu.Unlock()
	return v.records(ctx, id, at, end, func(b *kafka.Batch) {
		for i := range b.Records {
			look(&b.Records[i])
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		for i := range b.Records {
			v.note(&b.Records[i])
		}
		v.at = max(v.at, b.Next)
	})
}

// bounds returns the id of the topic, and what its partition holds.
func (v *vault) bounds(ctx context.Context) (id kafka.TopicID, first, end int64, err error) {
	if id, err = v.broker.TopicID(ctx, v.topic); err != nil {
		return id, 0, 0, err
	}
	marks, err := v.broker.Watermarks(ctx, v.topic)
	if err != nil {
		return id, 0, 0, err
	}
	if int(v.partition) >= len(marks) {
		return id, 0, 0, fmt.Errorf("topic %s has %d partitions; it must have as many as the input topic", v.topic, len(marks))
	}
	return id, marks[v.partition].First, marks[v.partition].End, nil
}

// records reads from one offset to another, and hands on what comes.
func (v *vault) records(ctx context.Context, id kafka.TopicID, at, end int64, take func(*kafka.Batch)) error {
	if at >= end {
		return nil
	}
	r := v.broker.Read(v.topic, id, v.partition, at)
	defer r.Close()
	for at < end {
		b, err := r.Next(ctx, fetchRecords, fetchBytes)
		if err != nil {
			return fmt.Errorf("reading snapshots: %w", err)
		}
		take(&b)
		at = max(at, b.Next)
	}
	return nil
}

// note takes up one record. mu is held.
func (v *vault) note(r *kafka.Record) {
	if id, ok := chunkOf(r.Key); ok {
		if len(r.Value) == 0 {
			delete(v.chunks, id)
		} else {
			v.chunks[id] = place{r.Offset, r.Time}
		}
		return
	}
	if id, ok := manifestOf(r.Key); ok {
		if len(r.Value) == 0 {
			delete(v.manifests, id)
		} else {
			v.manifests[id] = &found{offset: r.Offset, data: r.Value, written: r.Time}
		}
	}
}

// sameLog reports whether two ids can be of one topic: brokers may not tell it.
func sameLog(a, b kafka.TopicID) bool {
	return a == b || a == (kafka.TopicID{}) || b == (kafka.TopicID{})
}

// positions returns all manifests: those of a log of the input, the highest first, and
// then those of other logs, the same of the log of which one was written last, and so on.
func (v *vault) positions(topic kafka.TopicID) (ours, others []manifestID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id := range v.manifests {
		if sameLog(id.topic, topic) {
			ours = append(ours, id)
		} else {
			others = append(others, id)
		}
	}
	slices.SortFunc(ours, func(a, b manifestID) int { return compareIDs(b, a) })
	last := map[kafka.TopicID]int64{} // where the one written last is
	for _, id := range others {
		last[id.topic] = max(last[id.topic], v.manifests[id].offset)
	}
	slices.SortFunc(others, func(a, b manifestID) int {
		return cmp.Or(cmp.Compare(last[b.topic], last[a.topic]), compareIDs(b, a))
	})
	return ours, others
}

// has reports whether a chunk is there.
func (v *vault) has(id snapshot.ChunkID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.there(id)
}

// there is has, while mu is held.
func (v *vault) there(id snapshot.ChunkID) bool {
	at, ok := v.chunks[id]
	return ok && !v.spoilt[at.offset]
}

// manifest returns a manifest if all of its chunks are there; nil if not, or if it cannot
// be read.
func (v *vault) manifest(ctx context.Context, id manifestID) (*snapshot.Manifest, error) {
	v.mu.Lock()
	f := v.manifests[id]
	if f == nil || v.spoilt[f.offset] {
		v.mu.Unlock()
		return nil, nil
	}
	m := f.manifest
	v.mu.Unlock()
	if m == nil {
		decoded, err := snapshot.DecodeManifest(f.data, func(id snapshot.ChunkID) ([]byte, error) { return v.get(ctx, id) })
		if errors.Is(err, store.ErrManifest) || errors.Is(err, store.ErrChunk) || errors.Is(err, ErrGone) {
			return nil, nil // it is no whole one, which is the answer
		}
		if err != nil {
			return nil, err
		}
		if manifestIDOf(decoded.LogPosition) != id {
			return nil, nil
		}
		m = &decoded
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	f.manifest = m
	for _, id := range m.Chunks() {
		if !v.there(id) {
			return nil, nil
		}
	}
	return m, nil
}

// newest returns the highest whole manifest of the last era whose position the log of the
// input with an id holds. Without one, it returns the highest whole one of that log; without
// one, the highest whole one of the log that the topic had before; nil if there is none.
func (v *vault) newest(ctx context.Context, topic kafka.TopicID, log kafka.Watermark) (*snapshot.Manifest, error) {
	var highest *snapshot.Manifest
	ours, others := v.positions(topic)
	for i, id := range slices.Concat(ours, others) {
		if i >= len(ours) && highest != nil {
			break
		}
		m, err := v.manifest(ctx, id)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		if i < len(ours) && id.era == ours[0].era && !m.Stopped && log.First <= id.next && id.next <= log.End {
			return m, nil
		}
		if highest == nil {
			highest = m
		}
	}
	return highest, nil
}

// covers reports whether a whole snapshot has all that was read up to a position.
func (v *vault) covers(ctx context.Context, at store.LogPosition) (bool, error) {
	same, _ := v.positions(at.TopicID)
	for _, id := range same {
		if compareIDs(id, manifestIDOf(at)) < 0 {
			break
		}
		if m, err := v.manifest(ctx, id); err != nil || m != nil {
			return m != nil, err
		}
	}
	return false, nil
}

// condemn notes that a manifest is of no use, whole as it seemed.
func (v *vault) condemn(id manifestID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f := v.manifests[id]; f != nil {
		v.spoilt[f.offset] = true
	}
}

// get fetches a chunk. ErrGone if the topic does not have it. The bytes must not
// be changed.
func (v *vault) get(ctx context.Context, id snapshot.ChunkID) ([]byte, error) {
	for again := false; ; again = true {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v.mu.Lock()
		data, near := v.near(id)
		at, known := v.chunks[id], v.there(id)
		v.mu.Unlock()
		if near {
			return data, nil
		}
		if known {
			if data, err := v.fetch(ctx, id, at.offset); err != nil || data != nil {
				return data, err
			}
		}
		if again {
			return nil, fmt.Errorf("%w: %v of partition %d", ErrGone, id, v.partition)
		}
		// It was written anew meanwhile, and compaction took the older record.
		v.mu.Lock()
		delete(v.chunks, id)
		read := v.read
		v.mu.Unlock()
		if err := v.scan(ctx, read); err != nil {
			return nil, err
		}
	}
}

// fetch reads at an offset, and keeps what comes along. nil: the chunk is not
// there.
func (v *vault) fetch(ctx context.Context, id snapshot.ChunkID, offset int64) ([]byte, error) {
	v.mu.Lock()
	topic, spoilt := v.id, maps.Clone(v.spoilt)
	v.mu.Unlock()
	r := v.broker.Read(v.topic, topic, v.partition, offset)
	defer r.Close()
	window := map[snapshot.ChunkID][]byte{}
	for range fetchTries {
		b, err := r.Next(ctx, fetchRecords, fetchBytes)
		if errors.Is(err, kafka.ErrBelowStart) || errors.Is(err, kafka.ErrAboveEnd) || errors.Is(err, kafka.ErrRecreated) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading a snapshot: %w", err)
		}
		for i := range b.Records {
			c := &b.Records[i]
			if other, ok := chunkOf(c.Key); ok && len(c.Value) > 0 && !spoilt[c.Offset] {
				window[other] = c.Value
			}
		}
		if len(b.Records) > 0 || b.Next > offset {
			break
		}
	}
	v.mu.Lock()
	v.windows = slices.Insert(v.windows, 0, window)
	v.windows = slices.Delete(v.windows, min(len(v.windows), max(v.kept, 1)), len(v.windows))
	v.mu.Unlock()
	return window[id], nil
}

// keep says how many accounts are fetched at once.
func (v *vault) keep(accounts int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept = accounts
}

// letGo forgets the chunks themselves.
func (v *vault) letGo() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.windows = nil
}

// near returns a chunk that came with another. mu is held.
func (v *vault) near(id snapshot.ChunkID) (data []byte, ok bool) {
	for _, w := range v.windows {
		if data, ok = w[id]; ok {
			break
		}
	}
	return data, ok
}

// fetchTries is how often an answer without records is asked for again.
const fetchTries = 20
