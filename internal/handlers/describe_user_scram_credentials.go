package handlers

import (
	"kaasd/internal/codec/message"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
)

// DescribeUserScramCredentials (key 50, KIP-554): v0, flexible. It tells which
// mechanisms a user can log in with, and never salts or keys.
//
// A user of the credentials file whose entry has no SCRAM keys has no SCRAM
// credentials: 91, or left out when all are asked for.
func (h *Handlers) describeUserScramCredentials(c *call, req *message.DescribeUserScramCredentialsRequest) (*message.DescribeUserScramCredentialsResponse, error) {
	if err := c.allow(kafka.OpDescribe, kafka.Cluster); err != nil {
		return &message.DescribeUserScramCredentialsResponse{
			ErrorCode: c.code(err), Results: []message.DescribeUserScramCredentialsResponseResult{},
		}, nil
	}
	resp := &message.DescribeUserScramCredentialsResponse{
		ErrorMessage: new(string), Results: []message.DescribeUserScramCredentialsResponseResult{},
	}
	users := h.Credentials()
	if len(req.Users) == 0 {
		for _, u := range users.Sorted() {
			if u.Scram != nil {
				resp.Results = append(resp.Results, describedScram(u))
			}
		}
		return resp, nil
	}
	resp.Results = c.askedScrams(req, users)
	return resp, nil
}

func (c *call) askedScrams(req *message.DescribeUserScramCredentialsRequest, users *credstore.Snapshot) []message.DescribeUserScramCredentialsResponseResult {
	results := []message.DescribeUserScramCredentialsResponseResult{}
	times := map[string]int{}
	for _, asked := range req.Users {
		times[asked.Name]++
	}
	told := map[string]bool{}
	for _, asked := range req.Users {
		if told[asked.Name] {
			continue
		}
		told[asked.Name] = true
		u := users.Users[asked.Name]
		switch {
		case times[asked.Name] > 1:
			results = append(results, c.noScram(asked.Name, kafka.Errorf(kafka.DuplicateResource, "user %q is named more than once", asked.Name)))
		case u == nil || u.Scram == nil:
			results = append(results, c.noScram(asked.Name, kafka.Errorf(kafka.ResourceNotFound, "user %q has no SCRAM credentials", asked.Name)))
		default:
			results = append(results, describedScram(u))
		}
	}
	return results
}

func (c *call) noScram(user string, err error) message.DescribeUserScramCredentialsResponseResult {
	return message.DescribeUserScramCredentialsResponseResult{
		User: user, ErrorCode: c.code(err), ErrorMessage: text(err),
		CredentialInfos: []message.DescribeUserScramCredentialsResponseCredential{},
	}
}

func describedScram(u *credstore.User) message.DescribeUserScramCredentialsResponseResult {
	return message.DescribeUserScramCredentialsResponseResult{
		User: u.Username, ErrorMessage: new(string),
		CredentialInfos: []message.DescribeUserScramCredentialsResponseCredential{
			{Mechanism: int8(u.Scram.Mechanism), Iterations: int32(u.Scram.Iterations)},
		},
	}
}
