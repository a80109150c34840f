package internal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors is the drawing of the house: imports point down, and rooms of one
// floor do not know each other. A room below another's folder (codec/message,
// storage/segment) belongs to the same household and may use it.
var floors = map[string]int{
	"kaasd/internal/kafka": 0,

	"kaasd/internal/codec":         1,
	"kaasd/internal/codec/message": 1,
	"kaasd/internal/codec/record":  1,
	"kaasd/internal/codec/wire":    1,
	"kaasd/internal/watch":         1,

	"kaasd/internal/server":                      2,
	"kaasd/internal/quota":                       2,
	"kaasd/internal/credstore":                   2,
	"kaasd/internal/auth":                        2,
	"kaasd/internal/certificate":                 2,
	"kaasd/internal/certificate/certificatetest": 2,
	"kaasd/internal/storage":                     2,
	"kaasd/internal/storage/segment":             2,
	"kaasd/internal/storage/vfs":                 2,

	"kaasd/internal/metadata": 3,
	"kaasd/internal/group":    3,

	"kaasd/internal/handlers": 4,
	"kaasd/internal/admin":    4,

	"kaasd/internal/broker":            5,
	"kaasd/internal/broker/brokertest": 5,

	"kaasd/cmd/kaasd":            6,
	"kaasd/scripts/corpus":       6,
	"kaasd/scripts/fetchceiling": 6,
	"kaasd/scripts/flood":        6,
	"kaasd/scripts/kgoproduce":   6,
	"kaasd/scripts/licences":     6,
	"kaasd/scripts/loadgen":      6,
	"kaasd/scripts/quotakill":    6,
}

// doors says which rooms may import an outside package, by its prefix. A
// room covers the rooms below its folder.
var doors = map[string][]string{
	"github.com/spf13/":                          {"kaasd/cmd/kaasd"},
	"github.com/twmb/franz-go":                   {"kaasd/cmd/kaasd", "kaasd/scripts"},
	"go.yaml.in/yaml":                            {"kaasd/cmd/kaasd", "kaasd/internal/admin"},
	"github.com/prometheus/exporter-toolkit":     {"kaasd/internal/admin"},
	"golang.org/x/crypto/":                       {"kaasd/internal/admin"},
	"golang.org/x/term":                          {"kaasd/cmd/kaasd"},
	"golang.org/x/text/":                         {"kaasd/internal/auth"},
	"github.com/fsnotify/fsnotify":               {"kaasd/internal/watch"},
	"github.com/klauspost/compress":              {"kaasd/internal/codec/record"},
	"github.com/pierrec/lz4":                     {"kaasd/internal/codec/record"},
	"net/http":                                   {"kaasd/internal/admin", "kaasd/cmd/kaasd", "kaasd/scripts"},
	"github.com/prometheus/client_golang/":       {"kaasd/internal"},
	"github.com/santhosh-tekuri/jsonschema":      {},
	"github.com/rogpeppe/go-internal/testscript": {},
}

type listed struct {
	ImportPath string
	Imports    []string
	GoFiles    []string
}

func list(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", "kaasd/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("read go list: %v", err)
		}
		all = append(all, p)
	}
}

func TestFloors(t *testing.T) {
	empty := maps.Clone(floors)
	defer func() {
		for room := range empty {
			t.Errorf("%s is drawn, and nobody lives there", room)
		}
	}()
	for _, p := range list(t) {
		delete(empty, p.ImportPath)
		if len(p.GoFiles) == 0 {
			continue
		}
		floor, ok := floors[p.ImportPath]
		if !ok {
			t.Errorf("%s stands on no floor: add it to the drawing", p.ImportPath)
			continue
		}
		for _, fault := range faults(p, floor) {
			t.Error(fault)
		}
	}
}

func faults(p listed, floor int) []string {
	var out []string
	for _, imported := range p.Imports {
		below, ours := floors[imported]
		if ours && !mayImport(p.ImportPath, floor, imported, below) {
			out = append(out, fmt.Sprintf("%s (floor %d) imports %s (floor %d)", p.ImportPath, floor, imported, below))
		}
		if door := closedDoor(p.ImportPath, imported); door != "" {
			out = append(out, fmt.Sprintf("%s imports %s, whose door is %v", p.ImportPath, imported, doors[door]))
		}
	}
	if p.ImportPath == "kaasd/internal/kafka" {
		for _, imported := range p.Imports {
			if strings.Contains(imported, ".") {
				out = append(out, fmt.Sprintf("%s imports %s: it knows the standard library alone", p.ImportPath, imported))
			}
		}
	}
	return out
}

func mayImport(from string, floor int, to string, below int) bool {
	return below < floor || below == floor && household(from) == household(to)
}

// household is the room on the floor that a package belongs to.
func household(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[:min(len(parts), 3)], "/")
}

func closedDoor(from, imported string) string {
	for door, rooms := range doors {
		if !strings.HasPrefix(imported, door) {
			continue
		}
		open := slices.ContainsFunc(rooms, func(room string) bool {
			return from == room || strings.HasPrefix(from, room+"/")
		})
		if !open {
			return door
		}
	}
	return ""
}

func TestFloorsAreHeld(t *testing.T) {
	tests := []struct {
		name  string
		from  listed
		floor int
		want  int
	}{
		{"down", listed{ImportPath: "kaasd/internal/handlers", Imports: []string{"kaasd/internal/quota"}}, 4, 0},
		{"up", listed{ImportPath: "kaasd/internal/quota", Imports: []string{"kaasd/internal/handlers"}}, 2, 1},
		{"neighbour", listed{ImportPath: "kaasd/internal/quota", Imports: []string{"kaasd/internal/auth"}}, 2, 1},
		{"household", listed{ImportPath: "kaasd/internal/storage/segment", Imports: []string{"kaasd/internal/storage"}}, 2, 0},
		{"door", listed{ImportPath: "kaasd/internal/quota", Imports: []string{"github.com/fsnotify/fsnotify"}}, 2, 1},
		{"ground", listed{ImportPath: "kaasd/internal/kafka", Imports: []string{"go.uber.org/zap"}}, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := faults(tt.from, tt.floor); len(got) != tt.want {
				t.Errorf("faults = %q, want %d", got, tt.want)
			}
		})
	}
}
