package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// AlterReplicaLogDirs (key 34, KIP-113): v1-2, flexible from v2. There is one
// folder, and what is in it stays: any other is LOG_DIR_NOT_FOUND.
func (h *Handlers) alterReplicaLogDirs(c *call, req *message.AlterReplicaLogDirsRequest) (*message.AlterReplicaLogDirsResponse, error) {
	resp := &message.AlterReplicaLogDirsResponse{Results: []message.AlterReplicaLogDirsResponseTopic{}}
	denied := c.allow(kafka.OpAlter, kafka.Cluster)
	for _, dir := range req.Dirs {
		for _, t := range dir.Topics {
			out := message.AlterReplicaLogDirsResponseTopic{TopicName: t.Name, Partitions: []message.AlterReplicaLogDirsResponsePartition{}}
			for _, number := range t.Partitions {
				err := denied
				if err == nil {
					err = c.staysIn(dir.Path, t.Name, number)
				}
				out.Partitions = append(out.Partitions, message.AlterReplicaLogDirsResponsePartition{PartitionIndex: number, ErrorCode: c.code(err)})
			}
			resp.Results = append(resp.Results, out)
		}
	}
	return resp, nil
}

// staysIn says what keeps a partition from being in a folder.
func (c *call) staysIn(dir, topic string, number int32) error {
	if dir != c.h.LogDir {
		return kafka.Errorf(kafka.LogDirNotFound, "there is no log folder %q: the only one is %q", dir, c.h.LogDir)
	}
	t, ok := c.image.Topic(topic)
	if !ok {
		return errUnknownTopic
	}
	return hasPartition(t, number)
}
