package wire

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// Page is a frame and what it means.
type Page struct {
	Frame []byte
	Tree  *codec.Node // as far as the bytes made sense
	Err   error       // where and why they stopped to; nil when all is told
}

// prefix is the size before a frame, in bytes.
const prefix = 4

// Find gives the API of a name, in any case, or of a key in digits.
func Find(name string) (message.API, error) {
	var names []string
	for _, a := range message.APIs() {
		if strings.EqualFold(a.Name, name) || strconv.Itoa(int(a.Key)) == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return message.API{}, fmt.Errorf("there is no API %q; known are %s", name, strings.Join(names, ", "))
}

// CheckVersion says whether the API has the version.
func CheckVersion(a message.API, version int16) error {
	if version < a.Min || version > a.Max {
		return fmt.Errorf("%s has no version %d; it has %d to %d", a.Name, version, a.Min, a.Max)
	}
	return nil
}

// Request tells a request, whose header says what it is. The bytes may lack
// the size before the frame.
func Request(b []byte) *Page {
	p := &Page{Frame: b, Tree: &codec.Node{Name: "Request", Type: "message", Size: len(b)}}
	key, version, _ := codec.PeekKey(b)
	a, known := message.Lookup(key)
	bare := !sized(b) && known && CheckVersion(a, version) == nil
	at := p.size(bare)
	if p.Err != nil {
		return p
	}
	key, version, _ = codec.PeekKey(b[at:])
	a, known = message.Lookup(key)
	served := known && CheckVersion(a, version) == nil
	flexible := known && a.IsFlexible(version) || key == kafka.KeyApiVersions && !served
	end := p.header(at, "RequestHeader", requestHeader(flexible), new(codec.RequestHeader))
	switch {
	case p.Err != nil:
	case !known:
		p.Err = &codec.Error{Offset: at, Field: "api_key", Reason: fmt.Sprintf("API %s is not spoken here", key)}
	case !served:
		p.Tree.Name = a.Name + "Request"
		p.Err = &codec.Error{Offset: at + 2, Field: "api_version", Reason: CheckVersion(a, version).Error()}
	default:
		p.body(end, a.Name+"Request", a, version, a.NewRequest())
	}
	return p
}

// Response tells a response of an API and version, which its bytes do not
// say. The bytes may lack the size before the frame.
func Response(b []byte, a message.API, version int16) *Page {
	if err := CheckVersion(a, version); err != nil {
		return &Page{Frame: b, Tree: &codec.Node{Name: a.Name + "Response", Size: len(b)}, Err: err}
	}
	p := response(b, a, version, false)
	if sized(b) && p.Err == nil {
		return p
	}
	if bare := response(b, a, version, true); bare.Err == nil {
		return bare // a correlation id may look like the size
	}
	return p
}

func response(b []byte, a message.API, version int16, bare bool) *Page {
	p := &Page{Frame: b, Tree: &codec.Node{Name: a.Name + "Response", Type: "message", Size: len(b)}}
	at := p.size(bare)
	if p.Err == nil {
		at = p.header(at, "ResponseHeader", responseHeader(a.FlexibleResponseHeader(version)), new(codec.ResponseHeader))
	}
	if p.Err == nil {
		p.body(at, a.Name+"Response", a, version, a.NewResponse())
	}
	return p
}

func requestHeader(flexible bool) int16 {
	if flexible {
		return 2
	}
	return 1
}

func responseHeader(flexible bool) int16 {
	if flexible {
		return 1
	}
	return 0
}

// sized says whether the bytes are one frame with its size before it.
func sized(b []byte) bool {
	return len(b) >= prefix && int64(binary.BigEndian.Uint32(b)) == int64(len(b)-prefix)
}

// size tells the size before the frame and gives the offset after it.
func (p *Page) size(bare bool) int {
	if bare {
		return 0
	}
	if len(p.Frame) < prefix {
		p.Err = &codec.Error{Field: "size", Reason: fmt.Sprintf("%d bytes are needed, %d are left", prefix, len(p.Frame))}
		return 0
	}
	size := int32(binary.BigEndian.Uint32(p.Frame))
	leaf := &codec.Node{Name: "size", Type: "int32", Value: size, Size: prefix, About: "bytes that follow"}
	if int(size) != len(p.Frame)-prefix {
		leaf.Note = fmt.Sprintf("%d bytes are there", len(p.Frame)-prefix)
	}
	p.add(&codec.Node{Name: "Frame", Size: prefix, About: "length-delimited", Children: []*codec.Node{leaf}})
	return prefix
}

func (p *Page) add(n *codec.Node) { p.Tree.Children = append(p.Tree.Children, n) }

// header tells a header and gives the offset after it.
func (p *Page) header(at int, name string, version int16, h codec.Message) int {
	node, err := codec.Trace(p.Frame[at:], at, version, false, h)
	node.Name, node.Type = name, fmt.Sprintf("v%d", version)
	p.add(node)
	p.Err = err
	return at + node.Size
}

// body tells what follows the header, records and trailing bytes included.
func (p *Page) body(at int, name string, a message.API, version int16, m codec.Message) {
	p.Tree.Name, p.Tree.Type = name, fmt.Sprintf("message v%d", version)
	node, err := codec.Trace(p.Frame[at:], at, version, a.IsFlexible(version), m)
	node.Name, node.Type, node.About = name, "struct", fmt.Sprintf("body, version %d", version)
	p.add(node)
	openRecords(node)
	p.Err = err
	end := node.Offset + node.Size
	if rest := p.Frame[end:]; err == nil && len(rest) > 0 {
		p.add(&codec.Node{
			Name: "trailing", Type: "bytes", Value: rest, Offset: end, Size: len(rest),
			About: "bytes after the body, which are ignored",
		})
	}
}
