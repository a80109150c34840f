package handlers

import (
	"context"
	"errors"

	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/quota"
	"kaasd/internal/storage"
)

// Produce (key 0, KIP-98, KIP-467, KIP-516, KIP-679): v3-13, listed from v0
// because librdkafka looks there for its codecs (KAFKA-18659). Flexible from
// v9, topic ids from v13.
//
// Differs from Kafka: a codec that does not exist is 87, not -1, and what is
// inside a compressed batch is not looked at. No records at all (null) are 87;
// Kafka does not answer. Transactions are not served, so a transactional batch
// is 53 without a transactional id, as in Kafka, and 48 with one. Under
// log.flush=always acks=1 waits for the disk as acks=-1 does, and a failed
// sync closes the connection instead of answering 56: the answer has been made
// by then.
func (h *Handlers) produce(c *call, req *message.ProduceRequest) (*message.ProduceResponse, error) {
	p := production{h: h, c: c, resp: newProduceResponse(req)}
	if err := p.refusal(req); err != nil {
		p.refuseAll(err)
	} else {
		p.appendAll(req)
	}
	c.throttle = c.payer().Charge(quota.Produce, c.size, c.now)
	if len(p.commits) > 0 {
		c.answer.Wait = p.commits.wait
	}
	if req.Acks == 0 {
		c.exempt = true
		c.answer.Close = p.failed // the only way to tell
		return nil, nil
	}
	return p.resp, nil
}

// newProduceResponse answers for every partition asked, in order. All the
// partitions are in one array.
func newProduceResponse(req *message.ProduceRequest) *message.ProduceResponse {
	n := 0
	for i := range req.TopicData {
		n += len(req.TopicData[i].PartitionData)
	}
	resp := &message.ProduceResponse{Responses: make([]message.ProduceResponseTopic, len(req.TopicData))}
	all := make([]message.ProduceResponsePartition, n)
	for i := range req.TopicData {
		asked := &req.TopicData[i]
		n := len(asked.PartitionData)
		resp.Responses[i] = message.ProduceResponseTopic{Name: asked.Name, TopicID: asked.TopicID, PartitionResponses: all[:n:n]}
		all = all[n:]
		for j := range asked.PartitionData {
			resp.Responses[i].PartitionResponses[j] = message.ProduceResponsePartition{
				Index: asked.PartitionData[j].Index, BaseOffset: -1, LogAppendTimeMs: -1, LogStartOffset: -1,
			}
		}
	}
	return resp
}

// production is one Produce request on its way.
type production struct {
	h       *Handlers
	c       *call
	resp    *message.ProduceResponse
	commits commits
	failed  bool
}

// refusal is why the request as a whole cannot be served.
func (p *production) refusal(req *message.ProduceRequest) error {
	if req.Acks < -1 || req.Acks > 1 {
		return kafka.Errorf(kafka.InvalidRequiredAcks, "acks must be -1, 0 or 1, not %d", req.Acks)
	}
	if req.TransactionalID == nil && anyTransactional(req) {
		return kafka.Errorf(kafka.TransactionalIDAuthorizationFailed, "a transactional batch needs a transactional id")
	}
	return nil
}

func anyTransactional(req *message.ProduceRequest) bool {
	for i := range req.TopicData {
		for j := range req.TopicData[i].PartitionData {
			if transactional(req.TopicData[i].PartitionData[j].Records.Bytes) {
				return true
			}
		}
	}
	return false
}

func transactional(records []byte) bool {
	b := record.Batch(records)
	return len(b) >= record.HeaderSize && b.Magic() == record.Magic2 && b.Transactional()
}

func (p *production) refuseAll(err error) {
	for i := range p.resp.Responses {
		p.refuseTopic(&p.resp.Responses[i], err)
	}
}

func (p *production) refuseTopic(t *message.ProduceResponseTopic, err error) {
	for i := range t.PartitionResponses {
		p.refuse(&t.PartitionResponses[i], err, nil)
	}
}

func (p *production) refuse(out *message.ProduceResponsePartition, err error, bad []record.RecordError) {
	p.failed = true
	out.ErrorCode, out.ErrorMessage = p.c.code(err), text(err)
	for _, e := range bad {
		out.RecordErrors = append(out.RecordErrors, message.ProduceResponseRecordError{BatchIndex: e.Index, BatchIndexErrorMessage: &e.Message})
	}
}

func (p *production) appendAll(req *message.ProduceRequest) {
	for i := range req.TopicData {
		asked, out := &req.TopicData[i], &p.resp.Responses[i]
		t, err := p.topic(asked)
		if err != nil {
			p.refuseTopic(out, err)
			continue
		}
		for j := range asked.PartitionData {
			p.appendTo(t, &asked.PartitionData[j], &out.PartitionResponses[j])
		}
	}
}

// internalTopics are written by brokers only, but for a client id that
// Kafka's own tools use.
var internalTopics = map[string]bool{"__consumer_offsets": true, "__transaction_state": true, "__share_group_state": true}

const adminClient = "__admin_client"

func (p *production) topic(asked *message.ProduceTopic) (*metadata.Topic, error) {
	t, err := p.c.topic(asked.Name, asked.TopicID, p.c.header.Version >= 13, kafka.OpWrite)
	if err == nil && internalTopics[t.Name] && p.c.header.ClientID != adminClient {
		return nil, kafka.Errorf(kafka.InvalidTopic, "topic %q is internal: only the broker writes to it", t.Name)
	}
	return t, err
}

// appendTo judges the records of one partition and appends them.
func (p *production) appendTo(t *metadata.Topic, asked *message.ProducePartition, out *message.ProduceResponsePartition) {
	log, err := p.h.logs.find(t, asked.Index)
	if err != nil {
		p.refuse(out, err, nil)
		return
	}
	b, bad, err := p.validate(t, asked.Records.Bytes)
	if err == nil {
		var at storage.Appended
		if at, err = log.Append(b, p.c.now); err == nil {
			p.took(t, log, len(b), at, out)
			return
		}
	}
	p.refuse(out, err, bad)
	if !ofBatch(kafka.CodeOf(err)) || len(bad) > 0 {
		out.LogStartOffset = log.Offsets().Start
	}
}

// ofBatch says whether an error is about a batch that never came as far as the
// log. Kafka tells no log start beside those.
func ofBatch(code kafka.Code) bool {
	switch code {
	case kafka.CorruptMessage, kafka.InvalidRecord, kafka.MessageTooLarge, kafka.UnsupportedCompressionType:
		return true
	}
	return false
}

func (p *production) validate(t *metadata.Topic, records []byte) (record.Batch, []record.RecordError, error) {
	limits := record.Limits{
		MaxBytes: t.Settings.MaxMessageBytes, Now: p.c.now.UnixMilli(), Before: t.Settings.TimestampBefore, After: t.Settings.TimestampAfter,
		AppendTime: t.Settings.AppendTime, ZstdAllowed: p.c.header.Version >= 7,
		WalkCompressed: p.c.image.Broker.ValidateRecords,
	}
	b, bad, err := record.Validate(records, limits)
	switch {
	case err != nil:
		return nil, bad, err
	case b.Transactional():
		return nil, nil, kafka.Errorf(kafka.InvalidTxnState, "transactions are not served by this broker")
	}
	b, err = compressAs(b, t.Settings)
	return b, nil, err
}

// compressAs gives a batch the codec of compression.type, where the topic
// does not leave that to the producer.
func compressAs(b record.Batch, s metadata.TopicSettings) (record.Batch, error) {
	codec, ok := record.CodecOf(s.Compression)
	if !ok || b.Codec() == codec {
		return b, nil
	}
	b, err := record.Recompress(b, codec)
	switch {
	case err != nil:
		return nil, kafka.Errorf(kafka.InvalidRecord, "the records cannot be compressed with %s: %w", codec, err)
	case len(b) > s.MaxMessageBytes:
		return nil, kafka.Errorf(kafka.MessageTooLarge, "compressed with %s the batch has %d bytes, more than max.message.bytes of the topic, %d", codec, len(b), s.MaxMessageBytes)
	}
	return b, nil
}

func (p *production) took(t *metadata.Topic, log *partition, size int, at storage.Appended, out *message.ProduceResponsePartition) {
	out.BaseOffset, out.LogAppendTimeMs, out.LogStartOffset = at.BaseOffset, at.AppendTime, at.LogStart
	log.received.Add(float64(size))
	if t.Settings.Log.Flush == storage.FlushAlways {
		p.commits = append(p.commits, commit{log: log, offset: at.NextOffset})
	}
}

// commits are what must be on disk before the answer may go out.
type commits []commit

type commit struct {
	log    storage.Log
	offset int64
}

func (c commit) wait(ctx context.Context) error { return c.log.Wait(ctx, c.offset) }

// wait starts all commits before it waits for any.
func (all commits) wait(ctx context.Context) error {
	if len(all) == 1 {
		return all[0].wait(ctx)
	}
	done := make(chan error, len(all))
	for _, c := range all {
		go func() { done <- c.wait(ctx) }()
	}
	var failed error
	for range all {
		failed = errors.Join(failed, <-done)
	}
	return failed
}
