package handlers

import (
	"math"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// DescribeLogDirs (key 35, KIP-113, KIP-827): v1-5, flexible from v2. There is
// one folder. A topic or partition that does not exist is left out, as Kafka
// does. A folder in memory has no disk: its sizes are -1.
func (h *Handlers) describeLogDirs(c *call, req *message.DescribeLogDirsRequest) (*message.DescribeLogDirsResponse, error) {
	resp := &message.DescribeLogDirsResponse{Results: []message.DescribeLogDirsResponseResult{}}
	if err := c.allow(kafka.OpDescribe, kafka.Cluster); err != nil {
		resp.ErrorCode = c.code(err)
		return resp, nil
	}
	topics, err := sizedTopics.distinct(req.Topics)
	if err != nil {
		return nil, err
	}
	dir := message.DescribeLogDirsResponseResult{LogDir: h.LogDir, Topics: []message.DescribeLogDirsResponseTopic{}}
	dir.TotalBytes, dir.UsableBytes, dir.ErrorCode = c.disk()
	if err := c.tellMuch(sizesBytes(c.image, req.Topics == nil, topics)); err != nil {
		return nil, err
	}
	if req.Topics == nil {
		for _, t := range c.image.Topics() {
			dir.Topics = append(dir.Topics, h.sizes(t, nil))
		}
	}
	for _, asked := range topics {
		if t, ok := c.image.Topic(asked.Topic); ok {
			dir.Topics = append(dir.Topics, h.sizes(t, asked.Partitions))
		}
	}
	resp.Results = append(resp.Results, dir)
	return resp, nil
}

// sizedTopics is how partitions with sizes are asked for.
var sizedTopics = topicsOf[message.DescribeLogDirsTopic, int32, string]{
	name:       func(t *message.DescribeLogDirsTopic) string { return t.Topic },
	partitions: func(t *message.DescribeLogDirsTopic) *[]int32 { return &t.Partitions },
	number:     itself,
}

// sizesBytes is the memory that the answer takes at the most: 32 bytes of it are a
// partition's, and as many again where they are gathered.
func sizesBytes(image *metadata.Image, all bool, asked []message.DescribeLogDirsTopic) int {
	const partition, topic = 64, 64
	if all {
		return len(image.Topics())*topic + image.Partitions()*partition
	}
	bytes := len(asked) * topic
	for _, t := range asked {
		bytes += len(t.Partitions) * partition
	}
	return bytes
}

// sizes are those of some partitions of a topic; nil is all.
func (h *Handlers) sizes(t *metadata.Topic, only []int32) message.DescribeLogDirsResponseTopic {
	topic := message.DescribeLogDirsResponseTopic{Name: t.Name, Partitions: []message.DescribeLogDirsResponsePartition{}}
	if only == nil {
		for number := range t.Partitions {
			only = append(only, number)
		}
	}
	for _, number := range only {
		if log, err := h.logs.find(t, number); err == nil { // else it is not there, or was deleted meanwhile
			topic.Partitions = append(topic.Partitions, message.DescribeLogDirsResponsePartition{PartitionIndex: number, PartitionSize: log.Size()})
		}
	}
	return topic
}

// disk is how large the disk is and how much of it is free.
func (c *call) disk() (total, free int64, code kafka.Code) {
	total, free, err := c.h.Store.Disk()
	if err != nil {
		return -1, -1, c.code(kafka.Hide(kafka.KafkaStorageError, err))
	}
	if total == math.MaxInt64 {
		return -1, -1, kafka.NoError
	}
	return total, free, kafka.NoError
}
