package broker_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// givenTopic is a topic of which a recorded exchange tells.
type givenTopic struct {
	name       string
	id         kafka.TopicID // as recorded
	byID       bool          // and nothing else names it
	codes      []kafka.Code
	partitions int32
	ends       map[int32]int64 // offsets where partitions end
	stamps     map[int32]int64 // timestamps of their last records, in ms
}

// configs make the topic refuse what is told to be too large, or of a time that
// is not now.
func (t *givenTopic) configs() []message.CreateTopicsConfig {
	switch {
	case slices.Contains(t.codes, kafka.MessageTooLarge):
		return []message.CreateTopicsConfig{{Name: "max.message.bytes", Value: ptr("60")}}
	case slices.Contains(t.codes, kafka.InvalidTimestamp):
		return []message.CreateTopicsConfig{{Name: "message.timestamp.before.max.ms", Value: ptr("1")}, {Name: "message.timestamp.after.max.ms", Value: ptr("1")}}
	}
	return nil
}

// unknown are the errors of what is not there, or must not be seen.
var unknown = []kafka.Code{kafka.UnknownTopicOrPartition, kafka.InvalidTopic, kafka.TopicAuthorizationFailed, kafka.UnknownTopicID, kafka.InvalidRequest}

// exists says whether something of the topic was there.
func (t *givenTopic) exists() bool {
	return slices.ContainsFunc(t.codes, func(c kafka.Code) bool {
		return !slices.Contains(unknown, c) || c == kafka.UnknownTopicOrPartition && t.byID
	})
}

// topicsOf are the topics of which a request and its answer tell.
func topicsOf(asked, answered codec.Message) []*givenTopic {
	var found topics
	if answered != nil {
		found.add(reflect.ValueOf(answered), true)
	}
	found.add(reflect.ValueOf(asked), answered == nil)
	for _, t := range found.all {
		t.amend(asked)
	}
	return found.all
}

type topics struct{ all []*givenTopic }

// add collects topics; told says that what is named without an error is there.
func (all *topics) add(v reflect.Value, told bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			all.add(v.Elem(), told)
		}
	case reflect.Slice:
		for i := range v.Len() {
			all.add(v.Index(i), told)
		}
	case reflect.Struct:
		if isTopic(v) {
			all.topic(v, told)
			return
		}
		for i := range v.NumField() {
			all.add(v.Field(i), told)
		}
	}
}

func isTopic(v reflect.Value) bool {
	name := v.Type().Name()
	if kind := v.FieldByName("ResourceType"); kind.IsValid() {
		return kind.Int() == int64(kafka.ResourceTopic) && strings.Contains(name, "Config")
	}
	return strings.HasSuffix(name, "Topic") || name == "CreatePartitionsResponseResult"
}

func (all *topics) topic(v reflect.Value, told bool) {
	t := all.find(textOf(v, "Name", "Topic", "TopicName", "ResourceName"), idOf(v))
	if told {
		t.look(v)
		if len(t.codes) == 0 {
			t.codes = append(t.codes, kafka.NoError)
		}
	}
}

func (all *topics) find(name string, id kafka.TopicID) *givenTopic {
	for _, t := range all.all {
		if name != "" && t.name == name || !id.IsZero() && t.id == id {
			if t.id.IsZero() {
				t.id = id
			}
			return t
		}
	}
	byID := name == ""
	if byID {
		name = fmt.Sprintf("recorded-%d", len(all.all))
	}
	t := &givenTopic{name: name, id: id, byID: byID, partitions: 1, ends: map[int32]int64{}, stamps: map[int32]int64{}}
	all.all = append(all.all, t)
	return t
}

// look takes codes, partitions and ends out of an answer.
func (t *givenTopic) look(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			t.look(v.Index(i))
		}
	case reflect.Struct:
		t.partition(v)
		for i := range v.NumField() {
			if code, ok := v.Field(i).Interface().(kafka.Code); ok && v.Type().Field(i).Name == "ErrorCode" {
				t.codes = append(t.codes, code)
			}
			t.look(v.Field(i))
		}
	}
}

func (t *givenTopic) partition(v reflect.Value) {
	index, ok := intOf(v, "PartitionIndex", "Partition", "Index", "PartitionID")
	if code := v.FieldByName("ErrorCode"); !ok || code.IsValid() && slices.Contains(unknown, code.Interface().(kafka.Code)) {
		return
	}
	t.partitions = max(t.partitions, int32(index)+1)
	if end, ok := intOf(v, "HighWatermark", "Offset", "LowWatermark", "EndOffset"); ok {
		t.ends[int32(index)] = end
	}
	if stamp, ok := intOf(v, "Timestamp"); ok && stamp >= 0 {
		t.stamps[int32(index)] = stamp
		t.ends[int32(index)]++ // the record is there
	}
}

// amend is what cannot be read from the shape of a request.
func (t *givenTopic) amend(asked codec.Message) {
	switch m := asked.(type) {
	case *message.CreateTopicsRequest:
		if !slices.Contains(t.codes, kafka.TopicAlreadyExists) {
			t.codes = nil
		}
	case *message.CreatePartitionsRequest:
		for _, topic := range m.Topics {
			if topic.Name == t.name && slices.Contains(t.codes, kafka.NoError) {
				t.partitions = topic.Count - 1
			}
		}
	case *message.FetchRequest:
		if len(t.codes) == 0 {
			t.codes = []kafka.Code{kafka.NoError} // there is nothing new
		}
	case *message.MetadataRequest:
		if slices.Contains(t.codes, kafka.LeaderNotAvailable) {
			t.codes = nil // it is made because it is asked for
		}
	}
}

// replaceIDs puts our ids in a request and says whether there was one.
func replaceIDs(asked codec.Message, ids map[kafka.TopicID]kafka.TopicID) (replaced bool) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Array:
			if id, ok := v.Interface().(kafka.TopicID); ok && ids[id] != (kafka.TopicID{}) {
				v.Set(reflect.ValueOf(ids[id]))
				replaced = true
			}
		}
	}
	walk(reflect.ValueOf(asked))
	return replaced
}

func textOf(v reflect.Value, fields ...string) string {
	for _, field := range fields {
		switch f := v.FieldByName(field); {
		case !f.IsValid():
		case f.Kind() == reflect.String:
			return f.String()
		case f.Kind() == reflect.Pointer && !f.IsNil():
			return f.Elem().String()
		}
	}
	return ""
}

func idOf(v reflect.Value) kafka.TopicID {
	if f := v.FieldByName("TopicID"); f.IsValid() {
		return f.Interface().(kafka.TopicID)
	}
	return kafka.TopicID{}
}

func intOf(v reflect.Value, fields ...string) (int64, bool) {
	for _, field := range fields {
		if f := v.FieldByName(field); f.IsValid() && f.CanInt() {
			return f.Int(), true
		}
	}
	return 0, false
}
