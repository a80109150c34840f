package handlers

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// table is what kaasd speaks: key, lowest and highest version served, in key
// order.
func (h *Handlers) table() []route {
	return []route{
		on(0, 3, 13, h.produce).listedFrom(0),
		on(1, 4, 18, h.fetch),
		on(2, 1, 11, h.listOffsets),
		on(3, 0, 13, h.metadata),
		on(8, 2, 10, h.offsetCommit),
		on(9, 1, 10, h.offsetFetch),
		on(10, 0, 6, h.findCoordinator),
		on(11, 0, 9, h.joinGroup),
		on(12, 0, 4, h.heartbeat),
		on(13, 0, 5, h.leaveGroup),
		on(14, 0, 5, h.syncGroup),
		on(15, 0, 6, h.describeGroups),
		on(16, 0, 5, h.listGroups),
		on(17, 0, 1, h.saslHandshake),
		on(18, 0, 4, h.apiVersions),
		on(19, 2, 7, h.createTopics),
		on(20, 1, 6, h.deleteTopics),
		on(21, 0, 2, h.deleteRecords),
		on(22, 0, 5, h.initProducerId),
		on(23, 2, 4, h.offsetForLeaderEpoch),
		on(29, 1, 3, h.describeAcls),
		on(30, 1, 3, h.createAcls),
		on(31, 1, 3, h.deleteAcls),
		on(32, 1, 4, h.describeConfigs),
		on(33, 0, 2, h.alterConfigs),
		on(34, 1, 2, h.alterReplicaLogDirs),
		on(35, 1, 5, h.describeLogDirs),
		on(36, 0, 2, h.saslAuthenticate),
		on(37, 0, 3, h.createPartitions),
		on(42, 0, 3, h.deleteGroups),
		on(43, 0, 2, h.electLeaders),
		on(44, 0, 1, h.incrementalAlterConfigs),
		on(45, 0, 1, h.alterPartitionReassignments),
		on(46, 0, 0, h.listPartitionReassignments),
		on(47, 0, 0, h.offsetDelete),
		on(48, 0, 1, h.describeClientQuotas),
		on(49, 0, 1, h.alterClientQuotas),
		on(50, 0, 0, h.describeUserScramCredentials),
		on(51, 0, 0, h.alterUserScramCredentials),
		on(55, 0, 2, h.describeQuorum),
		on(57, 0, 2, h.updateFeatures),
		on(60, 0, 2, h.describeCluster),
		on(61, 0, 0, h.describeProducers),
		on(74, 0, 1, h.listConfigResources),
		on(75, 0, 0, h.describeTopicPartitions),
	}
}

// route leads the requests of one API to its method.
type route struct {
	message.API
	low, high int16 // served
	listed    int16 // lowest version ApiVersions tells, where it differs from low
	handle    func(c *call, body []byte) (codec.Message, error)

	answered prometheus.Counter
	duration prometheus.Observer
}

// on makes the route of an API. The request is pooled when its type can be
// reset; the response must therefore hold nothing of it once it is encoded.
func on[Req, Resp any, P interface {
	*Req
	codec.Message
}, Q interface {
	*Resp
	codec.Message
}](key kafka.APIKey, low, high int16, method func(*call, P) (Q, error)) route {
	api, known := message.Lookup(key)
	if !known || low < api.Min || high > api.Max {
		panic("handlers: " + key.String() + " is served in versions that cannot be decoded")
	}
	pool := sync.Pool{New: func() any { return P(new(Req)) }}
	handle := func(c *call, body []byte) (codec.Message, error) {
		req := pool.Get().(P)
		defer func() {
			if r, ok := any(req).(codec.Resetter); ok {
				r.Reset()
				pool.Put(req)
			}
		}()
		if err := codec.Decode(body, c.header.Version, api.IsFlexible(c.header.Version), req, c.budget()); err != nil {
			return nil, err
		}
		resp, err := method(c, req)
		if err != nil || resp == nil {
			return nil, err
		}
		return resp, nil
	}
	return route{API: api, low: low, high: high, listed: low, handle: handle}
}

// listedFrom tells clients a lower version than the lowest that is served.
func (r route) listedFrom(version int16) route {
	r.listed = version
	return r
}

func (r *route) serves(version int16) bool { return r.low <= version && version <= r.high }

// routes finds a route by key.
type routes struct {
	inOrder []*route
	byKey   [128]*route
}

func index(table []route) routes {
	var all routes
	for i := range table {
		all.inOrder = append(all.inOrder, &table[i])
		all.byKey[table[i].Key] = &table[i]
	}
	return all
}

func (all *routes) find(key kafka.APIKey) *route {
	if key < 0 || int(key) >= len(all.byKey) {
		return nil
	}
	return all.byKey[key]
}
