package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// ApiVersions (key 18, KIP-35, KIP-511): v0-4, flexible from v3; its response
// header never is. It is answered from the table. A version above the table is
// answered in session.unsupported.
//
// No features are told: those that Kafka has are about transactions and groups
// that kaasd does not serve.
func (h *Handlers) apiVersions(c *call, req *message.ApiVersionsRequest) (*message.ApiVersionsResponse, error) {
	if c.header.Version >= 3 {
		if err := checkSoftware(req); err != nil {
			return &message.ApiVersionsResponse{ErrorCode: c.code(err)}, nil
		}
	}
	if !c.Established() {
		c.sasl.state = saslAsked
	}
	resp := &message.ApiVersionsResponse{ApiKeys: make([]message.ApiVersionsResponseKey, 0, len(h.routes.inOrder))}
	for _, r := range h.routes.inOrder {
		resp.ApiKeys = append(resp.ApiKeys, message.ApiVersionsResponseKey{ApiKey: r.Key, MinVersion: r.listed, MaxVersion: r.high})
	}
	return resp, nil
}

func checkSoftware(req *message.ApiVersionsRequest) error {
	if !softwareName(req.ClientSoftwareName) {
		return kafka.Errorf(kafka.InvalidRequest, "%.64q is not a software name", req.ClientSoftwareName)
	}
	if !softwareName(req.ClientSoftwareVersion) {
		return kafka.Errorf(kafka.InvalidRequest, "%.64q is not a software version", req.ClientSoftwareVersion)
	}
	return nil
}

// softwareName says whether s starts and ends with a letter or digit and has
// nothing else inside but '-' and '.'.
func softwareName(s string) bool {
	for i := range len(s) {
		edge := i == 0 || i == len(s)-1
		switch b := s[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		case !edge && (b == '-' || b == '.'):
		default:
			return false
		}
	}
	return s != ""
}
