package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"kaasd/internal/codec/message"
	"kaasd/internal/codec/wire"
)

// wireFlags say which frame to show.
type wireFlags struct {
	version  int16
	response bool
	hex      string
	schema   bool
}

func newWire(a *app) *cobra.Command {
	var f wireFlags
	c := &cobra.Command{
		Use:   "wire [API]",
		Short: "show a message byte by byte: from hex, or the smallest of an API",
		Args:  atMostOne("API"),
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("version") {
				f.version = -1
			}
			return a.wire(f, firstOf(args))
		},
	}
	c.Flags().Int16Var(&f.version, "version", 0, "the version of the API (its highest)")
	c.Flags().BoolVar(&f.response, "response", false, "the response, not the request")
	c.Flags().StringVar(&f.hex, "hex", "", "the frame in hex; - reads it from stdin")
	c.Flags().BoolVar(&f.schema, "schema", false, "print the fields of the API's messages as JSON")
	return c
}

func (a *app) wire(f wireFlags, name string) error {
	if name == "" {
		return a.wireWithoutName(f)
	}
	api, err := wire.Find(name)
	if err != nil {
		return usagef("unknown API %q%s", name, didYouMean(name, apiNames(), "kaasd wire lists them"))
	}
	if f.schema {
		return wire.Schema(a.out, api)
	}
	if f.version < 0 {
		f.version = api.Max
	}
	if err := wire.CheckVersion(api, f.version); err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	frame, err := a.wireFrame(f, api)
	if err != nil {
		return err
	}
	if f.response {
		return a.showPage(wire.Response(frame, api, f.version))
	}
	return a.showPage(wire.Request(frame))
}

// wireWithoutName shows a request, which says itself what it is, or lists
// the APIs.
func (a *app) wireWithoutName(f wireFlags) error {
	switch {
	case f.response && f.hex != "":
		return usagef("a response does not say what it is (kaasd wire API --version N --response --hex -)")
	case f.schema:
		return usagef("the schema of what? (kaasd wire --schema API)")
	case f.hex == "":
		return a.listAPIs()
	}
	frame, err := a.hexFrame(f.hex)
	if err != nil {
		return err
	}
	return a.showPage(wire.Request(frame))
}

func apiNames() []string {
	var names []string
	for _, api := range message.APIs() {
		names = append(names, api.Name)
	}
	return names
}

// listedAPI is one API for JSON.
type listedAPI struct {
	Key      int16  `json:"key"`
	Name     string `json:"name"`
	Min      int16  `json:"min_version"`
	Max      int16  `json:"max_version"`
	Flexible int16  `json:"flexible_from"`
}

func (a *app) listAPIs() error {
	all := []listedAPI{}
	rows := [][]string{{"KEY", "API", "VERSIONS", "FLEXIBLE FROM"}}
	for _, api := range message.APIs() {
		all = append(all, listedAPI{int16(api.Key), api.Name, api.Min, api.Max, api.Flexible})
		flexible := "-"
		if api.Flexible <= api.Max {
			flexible = strconv.Itoa(int(api.Flexible))
		}
		rows = append(rows, []string{strconv.Itoa(int(api.Key)), api.Name, fmt.Sprintf("%d-%d", api.Min, api.Max), flexible})
	}
	if a.json() {
		return a.document(map[string]any{"apis": all})
	}
	table(a.out, "", rows)
	return nil
}

// wireFrame is the frame as given, or the smallest of the API.
func (a *app) wireFrame(f wireFlags, api message.API) ([]byte, error) {
	switch {
	case f.hex != "":
		return a.hexFrame(f.hex)
	case f.response:
		return wire.SmallestResponse(api, f.version)
	}
	return wire.SmallestRequest(api, f.version)
}

// maxHex is two digits and a blank for every byte of the largest frame that
// is worth reading.
const maxHex = 64 << 20

func (a *app) hexFrame(text string) ([]byte, error) {
	if text == "-" {
		raw, err := io.ReadAll(io.LimitReader(a.in, maxHex))
		if err != nil {
			return nil, fmt.Errorf("read stdin: %w", err)
		}
		text = string(raw)
	}
	frame, err := wire.ParseHex(text)
	if err != nil {
		return nil, usagef("--hex: %w", err)
	}
	return frame, nil
}

// showPage prints the grid and the tree, as far as the bytes made sense.
func (a *app) showPage(p *wire.Page) error {
	show := p.Text
	if a.json() {
		show = p.JSON
	}
	if err := show(a.out); err != nil {
		return err
	}
	if p.Err != nil {
		return silent(exitInput)
	}
	return nil
}
