package message_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSmallestQuotaFrames: the smallest legal AlterClientQuotas frames of
// version 1, byte for byte in both directions.
func TestSmallestQuotaFrames(t *testing.T) {
	empty := ""
	t.Run("request", func(t *testing.T) {
		want := unhex(t, "0000001f 0031 0001 00000000 0000 00 | 02 02 01 01 00 02 01 0000000000000000 00 00 00 00 00")
		m := &message.AlterClientQuotasRequest{Entries: []message.AlterClientQuotasEntry{{
			Entity: []message.AlterClientQuotasEntity{{EntityName: &empty}},
			Ops:    []message.AlterClientQuotasOp{{}},
		}}}
		h := codec.RequestHeader{Key: kafka.KeyAlterClientQuotas, Version: 1, HasClientID: true}
		got, err := codec.EncodeRequest(h, true, m)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("got %x, %v, want %x", got, err, want)
		}
		header, body, err := codec.ParseHeader(got[4:], true)
		if err != nil || header != h {
			t.Fatalf("header %+v, %v, want %+v", header, err, h)
		}
		var back message.AlterClientQuotasRequest
		if err := codec.Decode(body, 1, true, &back, len(want)*16); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, &back); diff != "" {
			t.Fatal(diff)
		}
	})
	t.Run("response", func(t *testing.T) {
		want := unhex(t, "00000013 00000000 00 | 00000000 02 0000 01 02 01 01 00 00 00")
		m := &message.AlterClientQuotasResponse{Entries: []message.AlterClientQuotasResponseEntry{{
			ErrorMessage: &empty,
			Entity:       []message.AlterClientQuotasResponseEntity{{EntityName: &empty}},
		}}}
		f, err := codec.EncodeResponse(0, 1, true, true, m)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Release()
		var got bytes.Buffer
		if n, err := f.WriteTo(&got); err != nil || n != int64(f.Size()) || !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("got %x (%d of %d), %v, want %x", got.Bytes(), n, f.Size(), err, want)
		}
		_, body, err := codec.ParseResponseHeader(want[4:], true)
		if err != nil {
			t.Fatal(err)
		}
		var back message.AlterClientQuotasResponse
		if err := codec.Decode(body, 1, true, &back, len(want)*16); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, &back); diff != "" {
			t.Fatal(diff)
		}
	})
}
