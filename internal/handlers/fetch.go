package handlers

import (
	"slices"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/quota"
	"kaasd/internal/storage"
)

// Fetch (key 1, KIP-74, KIP-227, KIP-320, KIP-516): v4-18, flexible from v12,
// topic ids from v13.
//
// Differs from Kafka: a quota is asked before records are read. A bucket in
// debt gives an answer without topics; else the fetch hands out what the balance
// holds, the first batch whole, and the excess is debt, so that a batch above
// the quota does not starve. A replica id is ignored: there are no followers, and
// a fetch that says it is one is charged like a consumer's. A session ends to
// make room only when it was idle for two minutes, and not for a larger one. There is
// none with partitions that are not there, or may not be read.
func (h *Handlers) fetch(c *call, req *message.FetchRequest) (*message.FetchResponse, error) {
	f := fetching{h: h, c: c, byID: c.header.Version >= 13, committed: req.IsolationLevel == 1}
	if err := f.prepare(partitionsOf(req)); err != nil {
		return nil, err
	}
	session, positions, err := h.sessions.begin(req, f.byID, c.now)
	if err != nil {
		return f.refusal(err), nil
	}
	if err := f.prepare(len(positions)); err != nil {
		return nil, err
	}
	f.max = max(0, min(int(req.MaxBytes), c.image.Broker.FetchMaxBytes))
	f.resolve(positions)
	served := f.served()
	if served {
		f.session = session
	} else {
		h.sessions.drop(session) // the client is told session 0
	}
	c.passTurn() // reads may wait for the disk
	if err := f.await(req); err != nil {
		f.release()
		return nil, err
	}
	if err := f.prepare(len(f.wants)); err != nil {
		f.release()
		return nil, err
	}
	if !f.take() {
		return f.empty(), nil
	}
	resp := f.response()
	if served && req.SessionEpoch == firstRequest {
		resp.SessionID = h.sessions.create(f.toldPositions(), f.byID, c.at)
	}
	return resp, nil
}

// prepare takes the memory for so many partitions, and a turn, where they are many: it
// is work to find them, and to tell of them.
func (f *fetching) prepare(partitions int) error {
	return f.c.inTurn(f.h.fetching, partitions*wantBytes, littleFetch)
}

// partitionsOf is how many partitions a request names.
func partitionsOf(req *message.FetchRequest) int {
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	return n
}

// served says whether there is a log of each partition. Of others no session is kept:
// their names may be anything.
func (f *fetching) served() bool {
	return !slices.ContainsFunc(f.wants, func(w want) bool { return w.log == nil })
}

// fetching is one Fetch request on its way.
type fetching struct {
	h         *Handlers
	c         *call
	byID      bool // topics are named by id
	committed bool // without records of open transactions
	session   *fetchSession
	max       int // bytes of records

	wants  []want
	found  int  // bytes of records
	more   bool // a read ended at a limit or with a segment: there is more
	failed bool // a partition has an error
	ended  bool // no more waiting: the server stops, or others want its memory
}

// want is one partition of a fetch.
type want struct {
	fetchPosition
	log     *partition // nil: there is none
	failure error      // why there is none, or of the last read
	records storage.Records
	ends    ends
}

// ends are those of a log when it was last read.
type ends struct{ start, lastStable, highWatermark int64 }

// unread are the ends that are told of a partition with an error.
var unread = ends{-1, -1, -1}

const (
	// wantBytes is what a partition takes while its fetch waits, about.
	wantBytes = 256
	// littleFetch is how much a fetch may take, in bytes, that nothing is reserved for.
	littleFetch = 4 << 10
)

// refusal answers a request whose session is not what it takes it for.
func (f *fetching) refusal(err error) *message.FetchResponse {
	return &message.FetchResponse{ErrorCode: f.c.code(err), Responses: []message.FetchResponseTopic{}}
}

// resolve finds the logs.
func (f *fetching) resolve(positions []fetchPosition) {
	f.wants = make([]want, len(positions))
	for i := range positions {
		w := &f.wants[i]
		w.fetchPosition = positions[i]
		t, err := f.c.topic(w.topic, w.id, f.byID, kafka.OpRead)
		if err == nil {
			w.log, err = f.h.logs.find(t, w.number)
			w.shareName(t)
		}
		w.failure = f.naming(err)
	}
}

// shareName lets go of the request's copy of a topic's name.
func (w *want) shareName(t *metadata.Topic) {
	if w.topic != "" {
		w.topic = t.Name
	}
}

// naming is err in the words of those who name topics by id.
func (f *fetching) naming(err error) error {
	if f.byID && kafka.CodeOf(err) == kafka.UnknownTopicOrPartition {
		return kafka.Errorf(kafka.UnknownTopicID, "%w", err)
	}
	return err
}

// read finds records for every partition, up to limit bytes in all. The first
// batch found is handed out whatever its size.
func (f *fetching) read(limit int) {
	f.release()
	f.found, f.more, f.failed = 0, false, false
	for i := range f.wants {
		w := &f.wants[i]
		if w.failure = f.readOne(w, limit-f.found); w.failure != nil {
			f.failed, w.ends = true, unread
		}
	}
}

// told is what the answer says of a partition.
func (f *fetching) told(w *want) message.FetchResponsePartition {
	p := message.FetchResponsePartition{
		PartitionIndex: w.number, ErrorCode: f.c.code(w.failure), PreferredReadReplica: -1,
		HighWatermark: w.ends.highWatermark, LastStableOffset: w.ends.lastStable, LogStartOffset: w.ends.start,
		CurrentLeader: f.leader(w),
	}
	if w.log == nil || f.committed && w.failure == nil { // as Kafka tells what it never tried to read
		p.AbortedTransactions = []message.FetchResponseAbortedTransaction{}
	}
	if w.records != nil {
		p.Records = codec.Records{Source: w.records}
	}
	return p
}

// leader is who leads a partition now, for those who know an older leader
// (KIP-951): this broker, whose address stands once in the answer.
func (f *fetching) leader(w *want) *message.LeaderIDAndEpoch {
	if f.c.header.Version < 16 || kafka.CodeOf(w.failure) != kafka.FencedLeaderEpoch {
		return nil
	}
	return &message.LeaderIDAndEpoch{LeaderID: int32(f.h.NodeID), LeaderEpoch: w.log.Offsets().Epoch}
}

// endpoints are the addresses of the leaders that the partitions tell.
func (f *fetching) endpoints(told []message.FetchResponsePartition) []message.NodeEndpoint {
	if !slices.ContainsFunc(told, func(p message.FetchResponsePartition) bool { return p.CurrentLeader != nil }) {
		return nil
	}
	host, port := f.c.address()
	return []message.NodeEndpoint{{NodeID: int32(f.h.NodeID), Host: host, Port: port}}
}

func (f *fetching) readOne(w *want, left int) error {
	if w.log == nil {
		return w.failure
	}
	if err := checkEpoch(w.epoch, w.log.Offsets().Epoch); err != nil {
		return err
	}
	s, err := w.log.Read(storage.Read{
		Offset: w.offset, MaxBytes: max(0, min(left, int(w.maxBytes))), AtLeast1: f.found == 0, Committed: f.committed,
	})
	if err != nil {
		return f.naming(err)
	}
	w.ends = ends{s.Offsets.Start, s.Offsets.LastStable, s.Offsets.HighWatermark}
	if s.Records != nil {
		w.records = s.Records
		f.found += s.Records.Size()
		f.more = f.more || s.Next < s.Offsets.HighWatermark
	}
	return nil
}

// release lets go of what was found and will not be sent.
func (f *fetching) release() {
	for i := range f.wants {
		if r := f.wants[i].records; r != nil {
			f.wants[i].records = nil
			r.Release()
		}
	}
}

// What an answer takes besides the records, roughly, in bytes: the excess is
// booked when its size is known.
const (
	answerOverhead    = 32
	partitionOverhead = 40
)

// take asks the quota for what was found, and cuts it to what is granted. It
// is false when the client is in debt: then nothing is handed out.
func (f *fetching) take() bool {
	overhead := answerOverhead + len(f.wants)*partitionOverhead
	grant := f.c.payer().Take(quota.Fetch, f.found+overhead, f.c.at)
	if grant.Throttle.Muted() {
		f.release()
		f.c.throttle = grant.Throttle
		return false
	}
	f.c.grant, f.c.granted = grant, true
	if limit := max(0, grant.Bytes-overhead); limit < f.found {
		f.read(limit)
	}
	return true
}

// empty answers a client in debt: no topics, and its session, if it has one,
// goes on.
func (f *fetching) empty() *message.FetchResponse {
	resp := &message.FetchResponse{Responses: []message.FetchResponseTopic{}}
	if f.session != nil {
		resp.SessionID = f.session.id
	}
	return resp
}

// response hands over what was found. From then on the records belong to the
// answer.
func (f *fetching) response() *message.FetchResponse {
	resp := f.empty()
	if f.session != nil {
		defer f.h.sessions.told(f.session, f.wants)
	}
	all := make([]message.FetchResponsePartition, 0, len(f.wants))
	for i := range f.wants {
		w := &f.wants[i]
		if f.session != nil && !w.changed() {
			continue
		}
		if w.records != nil {
			w.log.sent.Add(float64(w.records.Size()))
		}
		all = append(all, f.told(w))
		if last := len(resp.Responses) - 1; last < 0 || resp.Responses[last].Topic != w.topic || resp.Responses[last].TopicID != w.id {
			resp.Responses = append(resp.Responses, message.FetchResponseTopic{Topic: w.topic, TopicID: w.id})
		}
		t := &resp.Responses[len(resp.Responses)-1]
		t.Partitions = all[len(all)-1-len(t.Partitions):]
	}
	resp.NodeEndpoints = f.endpoints(all)
	return resp
}

// changed says whether a session's client has to be told of the partition.
func (w *want) changed() bool {
	return w.records != nil || w.failure != nil ||
		w.ends.highWatermark != w.highWatermark || w.ends.start != w.logStart
}

// toldPositions are the positions with what the answer says of them.
func (f *fetching) toldPositions() []fetchPosition {
	positions := make([]fetchPosition, len(f.wants))
	for i := range f.wants {
		positions[i] = f.wants[i].fetchPosition
		positions[i].highWatermark, positions[i].logStart = f.wants[i].ends.highWatermark, f.wants[i].ends.start
	}
	return positions
}
