package broker_test

import (
	"bytes"
	"testing"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// ApiVersions above ours is answered in version 0 with the range of that key,
// whatever its body; the connection stays.
func TestVersionsOfAnotherAge(t *testing.T) {
	b := brokertest.Start(t)
	for _, address := range []string{b.Plain, b.SASL} {
		for _, request := range [][]byte{
			unhex(t, "00000013"+"0012"+"0063"+"00000007"+"0003616263"+"00"+"0278"+"0231"+"00"),
			sized(header(18, 5), []byte{0, 2, 'x', 2, '1', 0, 0xff, 0xff}),
			sized(header(18, 6), []byte{0}, bytes.Repeat([]byte{0xff}, 40)),
			sized(header(18, 99), []byte{0}),
		} {
			p := dial(t, address)
			p.raw(request)
			if got, want := p.readFrame(), unhex(t, "00000007"+"0023"+"00000001"+"0012"+"0000"+"0004"); !bytes.Equal(got, want) {
				t.Errorf("%x is answered %x, want %x", request, got, want)
			}
			for version := int16(3); version <= 4; version++ {
				if address == b.SASL && version == 4 {
					break // once before the log-in
				}
				resp := call[message.ApiVersionsResponse](p, version, &message.ApiVersionsRequest{ClientSoftwareName: "peer", ClientSoftwareVersion: "1"})
				if resp.ErrorCode != 0 || len(resp.ApiKeys) < len(clientKeys) {
					t.Errorf("version %d: %s, %d keys", version, resp.ErrorCode, len(resp.ApiKeys))
				}
			}
		}
	}
}

// clientKeys are what producers, consumers and the tools for topics, configs and
// quotas cannot do without.
var clientKeys = []kafka.APIKey{
	kafka.KeyProduce, kafka.KeyFetch, kafka.KeyListOffsets, kafka.KeyMetadata, kafka.KeySASLHandshake, kafka.KeyApiVersions,
	kafka.KeyCreateTopics, kafka.KeyDeleteTopics, kafka.KeyDeleteRecords, kafka.KeyInitProducerID, kafka.KeyOffsetForLeaderEpoch,
	kafka.KeyDescribeConfigs, kafka.KeyAlterConfigs, kafka.KeySASLAuthenticate, kafka.KeyCreatePartitions,
	kafka.KeyIncrementalAlterConfigs, kafka.KeyDescribeClientQuotas, kafka.KeyAlterClientQuotas,
	kafka.KeyDescribeUserScramCredentials, kafka.KeyDescribeCluster,
}

// What clients look for is listed, and every version that is listed is
// answered.
func TestWhatIsListedIsServed(t *testing.T) {
	b := brokertest.Start(t)
	p := dial(t, b.Plain)
	listed := map[kafka.APIKey]bool{}
	for _, k := range p.versions().ApiKeys {
		listed[k.ApiKey] = true
		api, ok := message.Lookup(k.ApiKey)
		if !ok || k.MaxVersion != api.Max {
			t.Fatalf("%s is listed up to %d, known up to %d", k.ApiKey, k.MaxVersion, api.Max)
		}
		if k.ApiKey == kafka.KeyProduce && k.MinVersion == 0 {
			k.MinVersion = 3 // listed for old clients that look for their codecs there
		}
		for version := k.MinVersion; version <= k.MaxVersion; version++ {
			req := api.NewRequest()
			codec.Fill(version, api.IsFlexible(version), batch(1), req)
			if produce, ok := req.(*message.ProduceRequest); ok {
				produce.Acks = 1
			}
			p.send(version, req)
			p.read(api.NewResponse())
		}
	}
	for _, key := range clientKeys {
		if !listed[key] {
			t.Errorf("%s is not listed", key)
		}
	}
}

// A bad software name is refused and the connection stays.
func TestSoftwareNames(t *testing.T) {
	p := dial(t, brokertest.Start(t).Plain)
	for _, name := range []string{"", "-a", "a b", "a_b", "\u00fc"} {
		resp := call[message.ApiVersionsResponse](p, 3, &message.ApiVersionsRequest{ClientSoftwareName: name, ClientSoftwareVersion: "1"})
		if resp.ErrorCode != kafka.InvalidRequest {
			t.Errorf("%q: %s", name, resp.ErrorCode)
		}
	}
	p.versions()
}
