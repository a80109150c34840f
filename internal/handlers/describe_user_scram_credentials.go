package handlers

import (
	"slices"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// DescribeUserScramCredentials (key 50, KIP-554): v0, flexible. It tells which
// mechanisms a user can log in with, whoever gives the credentials: those set
// over the Kafka API and those of the credentials file. Salts and keys are never
// told.
//
// A user of the credentials file whose entry has no SCRAM keys has no SCRAM
// credentials: 91, or left out when all are asked for.
//
// Differs from Kafka: a denied request gets no results (Kafka: one with an empty
// name for each user asked, and no answer at all when all are asked for).
func (h *Handlers) describeUserScramCredentials(c *call, req *message.DescribeUserScramCredentialsRequest) (*message.DescribeUserScramCredentialsResponse, error) {
	if err := tooMany(len(req.Users)); err != nil {
		return nil, err
	}
	if err := c.allow(kafka.OpDescribe, kafka.Cluster); err != nil {
		return &message.DescribeUserScramCredentialsResponse{
			ErrorCode: c.code(err), Results: []message.DescribeUserScramCredentialsResponseResult{},
		}, nil
	}
	resp := &message.DescribeUserScramCredentialsResponse{
		ErrorMessage: new(string), Results: []message.DescribeUserScramCredentialsResponseResult{},
	}
	if len(req.Users) == 0 {
		for _, user := range c.scramUsers() {
			resp.Results = append(resp.Results, describedScrams(user, h.scramsOf(user)))
		}
		return resp, nil
	}
	resp.Results = c.askedScrams(req)
	return resp, nil
}

func (c *call) askedScrams(req *message.DescribeUserScramCredentialsRequest) []message.DescribeUserScramCredentialsResponseResult {
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
		credentials := c.h.scramsOf(asked.Name)
		switch {
		case times[asked.Name] > 1:
			results = append(results, c.noScram(asked.Name, kafka.Errorf(kafka.DuplicateResource, "user %q is named more than once", asked.Name)))
		case len(credentials) == 0:
			results = append(results, c.noScram(asked.Name, kafka.Errorf(kafka.ResourceNotFound, "user %q has no SCRAM credentials", asked.Name)))
		default:
			results = append(results, describedScrams(asked.Name, credentials))
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

func describedScrams(user string, credentials []kafka.ScramCredential) message.DescribeUserScramCredentialsResponseResult {
	result := message.DescribeUserScramCredentialsResponseResult{User: user, ErrorMessage: new(string)}
	for _, c := range credentials {
		result.CredentialInfos = append(result.CredentialInfos, message.DescribeUserScramCredentialsResponseCredential{
			Mechanism: int8(c.Mechanism), Iterations: int32(c.Iterations),
		})
	}
	return result
}

// scramsOf are the credentials that are in force for a user, whoever gives them.
func (h *Handlers) scramsOf(user string) []kafka.ScramCredential {
	var all []kafka.ScramCredential
	for _, m := range kafka.ScramMechanisms {
		if c, ok := h.Secrets.Scram(user, m); ok {
			all = append(all, c)
		}
	}
	return all
}

// scramUsers are the users with SCRAM credentials, by name.
func (c *call) scramUsers() []string {
	names := c.image.ScramUsers()
	for name, u := range c.h.Credentials().Users {
		if u.Scram != nil && !c.image.HasScram(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
