package codec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec"
	"kaasd/internal/kafka"
)

// order is a message of every verb.
type order struct {
	Flag    bool
	Tiny    int8
	Small   int16
	Code    kafka.Code
	Size    int32
	Offset  int64
	Rate    float64
	ID      kafka.TopicID
	Name    string
	Note    *string
	Raw     []byte
	Records codec.Records
	Items   []item
	More    []item // null from version 1 on
	Numbers []int32
	Words   []string
	Names   []string // null from version 1 on
	Leader  *item
	Epoch   *int64
}

type item struct {
	Key   string
	Extra []item // a tag
}

func (m *order) Fields(c *codec.Cursor) {
	c.Bool("Flag", &m.Flag, "a")
	c.Int8("Tiny", &m.Tiny, "a")
	c.Int16("Small", &m.Small, "a")
	c.ErrorCode("Code", &m.Code, "a")
	c.Int32("Size", &m.Size, "a")
	c.Int64("Offset", &m.Offset, "a")
	c.Float64("Rate", &m.Rate, "a")
	c.UUID("ID", &m.ID, "a")
	c.String("Name", &m.Name, "a")
	c.NullString("Note", 1, &m.Note, "a")
	c.Bytes("Raw", &m.Raw, "a")
	c.NullRecords("Records", &m.Records, "a")
	codec.Array(c, "Items", "Item", &m.Items, "a")
	codec.NullArray(c, "More", "Item", 1, &m.More, "a")
	c.Int32s("Numbers", &m.Numbers, "a")
	c.Strings("Words", &m.Words, "a")
	c.NullStrings("Names", 1, &m.Names, "a")
	if c.Tag(0, m.Leader != nil) {
		codec.Struct(c, "Leader", "Item", codec.Make(c, &m.Leader), "a")
		c.EndTag()
	}
	if c.Tag(3, m.Epoch != nil) {
		c.Int64("Epoch", codec.Make(c, &m.Epoch), "a")
		c.EndTag()
	}
}

func (m *item) Fields(c *codec.Cursor) {
	c.String("Key", &m.Key, "a")
	if c.Tag(1, len(m.Extra) > 0) {
		codec.Array(c, "Extra", "Item", &m.Extra, "a")
		c.EndTag()
	}
}

// body is a response's bytes after size and correlation id.
func body(t *testing.T, version int16, flexible bool, m codec.Message) []byte {
	t.Helper()
	f, err := codec.EncodeResponse(7, version, flexible, false, m)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	var b bytes.Buffer
	if n, err := f.WriteTo(&b); err != nil || n != int64(f.Size()) || b.Len() != f.Size() {
		t.Fatalf("wrote %d, %v, want %d", n, err, f.Size())
	}
	return b.Bytes()[8:]
}

func full() *order {
	note, epoch := "note", int64(-7)
	long := strings.Repeat("x", 200)
	return &order{
		Flag: true, Tiny: -1, Small: -2, Code: kafka.InvalidRequest, Size: -3, Offset: -4, Rate: 0.5,
		ID: kafka.TopicID{1, 2, 15: 16}, Name: "name", Note: &note, Raw: []byte{1, 2}, Records: codec.Records{Bytes: []byte{3}},
		Items: []item{{Key: "a"}, {Key: "b"}}, More: []item{}, Numbers: []int32{1, -1}, Words: []string{"w"}, Names: []string{},
		Leader: &item{Key: long, Extra: []item{{Key: "nested"}, {Key: long, Extra: []item{{Key: "deeper"}}}}}, Epoch: &epoch,
	}
}

func TestRoundTrip(t *testing.T) {
	plain := full() // what has no tags keeps none
	plain.Leader, plain.Epoch = nil, nil
	below := &order{Raw: []byte{}, Items: []item{}, More: []item{}, Numbers: []int32{}, Words: []string{}, Names: []string{}, Note: new(string)}
	null := &order{Raw: []byte{}, Items: []item{}, Numbers: []int32{}, Words: []string{}}
	for _, c := range []struct {
		name     string
		version  int16
		flexible bool
		in, want *order
	}{
		{"flexible", 1, true, full(), full()},
		{"not flexible", 1, false, full(), plain},
		{"nil is null", 1, true, &order{}, null},
		{"nil is null, not flexible", 1, false, &order{}, null},
		{"nil is empty before null was allowed", 0, true, &order{}, below},
		{"the same, not flexible", 0, false, &order{}, below},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got order
			if err := codec.Decode(body(t, c.version, c.flexible, c.in), c.version, c.flexible, &got, 1<<20); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, &got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// TestErrors: what is wrong is said with the offset and the path of the field.
func TestErrors(t *testing.T) {
	head := strings.Repeat("\x00", 1+1+2+2+4+8+8+16)
	for _, c := range []struct {
		name     string
		version  int16
		flexible bool
		body     string
		want     string
	}{
		{"nothing", 1, true, "", "offset 0x0000, field Flag: 1 bytes are needed, 0 are left"},
		{"null name", 1, true, head + "\x00", "offset 0x002a, field Name: null where null is not allowed"},
		{"null name, not compact", 1, false, head + "\xff\xff", "offset 0x002a, field Name: null where null is not allowed"},
		{"length -2", 1, false, head + "\xff\xfe", "offset 0x002a, field Name: length -2 is negative"},
		{"length of more than is there", 1, true, head + "\x09abc", "offset 0x002a, field Name: length 8 is more than the 3 bytes left"},
		{"null note too early", 0, true, head + "\x01\x00", "offset 0x002b, field Note: null where null is not allowed"},
		{"null bytes", 1, true, head + "\x01\x00\x00", "offset 0x002c, field Raw: null where null is not allowed"},
		{"second item", 1, true, head + "\x01\x00\x01\x00\x03\x02a\x00\x05a", "offset 0x0032, field Items[1].Key: length 4 is more than the 1 bytes left"},
		{"third word", 1, true, head + "\x01\x00\x01\x00\x01\x00\x01\x04\x01\x01\x00", "offset 0x0034, field Words[2]: null where null is not allowed"},
		{"long varint", 1, true, head + "\xff\xff\xff\xff\x7f", "offset 0x002a, field Name: varint is longer than 32 bits"},
		{"too many tags", 1, true, head + "\x01\x00\x01\x00\x01\x00\x01\x01\x00\x05\x00\x00", "offset 0x0033, field tagged_fields: 5 tags are more than the 2 bytes left"},
		{"tag too long", 1, true, head + "\x01\x00\x01\x00\x01\x00\x01\x01\x00\x01\x00\x05abc", "offset 0x0035, field tagged_fields: tag of 5 bytes is more than the 3 bytes left"},
		{"tag too short", 1, true, head + "\x01\x00\x01\x00\x01\x00\x01\x01\x00\x01\x03\x02ab", "offset 0x0036, field Epoch: 8 bytes are needed, 2 are left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := codec.Decode([]byte(c.body), c.version, c.flexible, new(order), 1<<20)
			if err == nil || err.Error() != c.want {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
			if _, err := codec.Trace([]byte(c.body), 0, c.version, c.flexible, new(order)); err == nil || err.Error() != c.want {
				t.Fatalf("traced: got %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestUnknownTags: tags that the message does not name are skipped, wherever
// they stand, and so are bytes after the body.
func TestUnknownTags(t *testing.T) {
	in := &order{Epoch: new(int64)}
	b := body(t, 1, true, in)
	section := len(b) - 1 - 2 - 8 // count, number and size, value
	with := append(bytes.Clone(b[:section]), 3, 1, 2, 'x', 'y')
	with = append(append(with, b[section+1:]...), 9, 0)
	var got, want order
	if err := codec.Decode(append(with, "trailing"...), 1, true, &got, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := codec.Decode(b, 1, true, &want, 1<<20); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestBudget(t *testing.T) {
	m := &order{Words: []string{strings.Repeat("a", 1000)}}
	b := body(t, 1, true, m)
	if err := codec.Decode(b, 1, true, new(order), 1016); err != nil {
		t.Fatal(err)
	}
	var e *codec.Error
	if err := codec.Decode(b, 1, true, new(order), 1015); !errors.As(err, &e) || e.Field != "Words[0]" {
		t.Fatal(err)
	}
}

// TestAlias: bytes and records are slices of the body that cannot grow into
// what follows.
func TestAlias(t *testing.T) {
	b := body(t, 1, true, full())
	var m order
	if err := codec.Decode(b, 1, true, &m, 1<<20); err != nil {
		t.Fatal(err)
	}
	clear(b)
	for _, s := range [][]byte{m.Raw, m.Records.Bytes} {
		if len(s) == 0 || !bytes.Equal(s, make([]byte, len(s))) || cap(s) != len(s) {
			t.Fatalf("%x is not a clipped slice of the body", s)
		}
	}
}

func TestTooLong(t *testing.T) {
	m := &order{Items: []item{{}, {Key: strings.Repeat("a", 1<<15)}}, Records: codec.Records{Source: new(source)}}
	_, err := codec.EncodeResponse(1, 1, true, true, m)
	if err == nil || !strings.Contains(err.Error(), "string of 32768 bytes is longer than 32767") {
		t.Fatal(err)
	}
	if s := m.Records.Source.(*source); s.released != 1 {
		t.Fatalf("source released %d times", s.released)
	}
}

// source is records that come late.
type source struct {
	text     string
	claims   int // more bytes than it has
	err      error
	released int
}

func (s *source) Size() int { return len(s.text) + s.claims }

func (s *source) WriteTo(w io.Writer) (int64, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := io.WriteString(w, s.text)
	return int64(n), err
}

func (s *source) Release() { s.released++ }

func TestSources(t *testing.T) {
	s := &source{text: strings.Repeat("records", 40)}
	streamed := &order{Name: "n", Records: codec.Records{Source: s}}
	inline := &order{Name: "n", Records: codec.Records{Bytes: []byte(s.text)}}
	if got, want := body(t, 1, true, streamed), body(t, 1, true, inline); !bytes.Equal(got, want) {
		t.Fatalf("streamed\n%q\ninline\n%q", got, want)
	}
	if s.released != 1 {
		t.Fatalf("released %d times", s.released)
	}
	if _, err := codec.EncodeRequest(codec.RequestHeader{Key: kafka.KeyProduce}, true, streamed); err == nil {
		t.Fatal("a request took records that are not bytes")
	}
}

func TestBadSources(t *testing.T) {
	gone := errors.New("gone")
	for _, c := range []struct {
		name string
		s    source
		want error
	}{
		{"short", source{text: "abc", claims: 1}, io.ErrShortWrite},
		{"failing", source{err: gone}, gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := codec.EncodeResponse(1, 1, true, true, &order{Records: codec.Records{Source: &c.s}})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Release()
			if _, err := f.WriteTo(io.Discard); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		name     string
		frame    string
		flexible bool
		want     codec.RequestHeader
		body     string
		err      string
	}{
		{"null client id", "\x00\x03\x00\x01\x00\x00\x00\x07\xff\xffbody", false,
			codec.RequestHeader{Key: 3, Version: 1, CorrelationID: 7}, "body", ""},
		{"flexible, with a tag", "\x00\x03\x00\x09\x00\x00\x00\x07\x00\x02id\x01\x05\x01xbody", true,
			codec.RequestHeader{Key: 3, Version: 9, CorrelationID: 7, ClientID: "id", HasClientID: true}, "body", ""},
		{"no client id", "\x00\x03\x00\x01\x00\x00\x00\x07", false,
			codec.RequestHeader{Key: 3, Version: 1, CorrelationID: 7}, "", "offset 0x0008, field client_id: 2 bytes are needed, 0 are left"},
		{"HTTP", "GET / HTTP/1.1\r\n", false,
			codec.RequestHeader{Key: 'G'<<8 | 'E', Version: 'T'<<8 | ' ', CorrelationID: '/'<<24 | ' '<<16 | 'H'<<8 | 'T'}, "/1.1\r\n", "offset 0x0008, field client_id: length 21584 is more than the 6 bytes left"},
		{"no tags", "\x00\x12\x7f\xff\x00\x00\x00\x07\xff\xff", true,
			codec.RequestHeader{Key: 18, Version: 0x7fff, CorrelationID: 7}, "", "offset 0x000a, field tagged_fields: 1 bytes are needed, 0 are left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, body, err := codec.ParseHeader([]byte(c.frame), c.flexible)
			if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Fatalf("got %v, want %s", err, c.err)
			}
			if diff := cmp.Diff(c.want, h); diff != "" {
				t.Fatal(diff)
			}
			if string(body) != c.body {
				t.Fatalf("body %q, want %q", body, c.body)
			}
			if err == nil {
				again, err := codec.EncodeRequest(h, c.flexible, nothing{})
				if err != nil || !strings.HasPrefix(c.frame, string(again[4:12])) {
					t.Fatalf("encodes to %q, %v", again, err)
				}
			}
		})
	}
}

type nothing struct{}

func (nothing) Fields(*codec.Cursor) {}

func TestPeekClientID(t *testing.T) {
	frame := func(length int16, id string) []byte {
		head := []byte{0, 0, 0, 9, 0, 0, 0, 1}
		return append(binary.BigEndian.AppendUint16(head, uint16(length)), id...)
	}
	for _, c := range []struct {
		head []byte
		want string
		ok   bool
	}{
		{frame(3, "abcrest"), "abc", true},
		{frame(5, "abc"), "abc", true}, // the rest is still to come
		{frame(0, "rest"), "", true},
		{frame(-1, "rest"), "", true},
		{frame(3, "")[:9], "", false},
		{nil, "", false},
	} {
		if got, ok := codec.PeekClientID(c.head); string(got) != c.want || ok != c.ok {
			t.Errorf("%q: got %q %v, want %q %v", c.head, got, ok, c.want, c.ok)
		}
	}
}

func TestPeekKey(t *testing.T) {
	if _, _, ok := codec.PeekKey([]byte{0, 1, 0}); ok {
		t.Error("three bytes gave a key")
	}
	if key, version, ok := codec.PeekKey([]byte{0, 1, 0xff, 0xff, 9}); key != kafka.KeyFetch || version != -1 || !ok {
		t.Errorf("got %v %d %v", key, version, ok)
	}
}
