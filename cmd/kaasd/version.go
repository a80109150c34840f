package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"kaasd/internal/admin"
)

// Set by the linker (-X main.version=...). Without it the build info of the
// binary answers.
var version, revision, buildDate string

// build says which kaasd this is.
type build struct {
	Version   string   `json:"version"`
	Revision  string   `json:"revision"`
	Date      string   `json:"date"`
	GoVersion string   `json:"go_version"`
	Platform  string   `json:"platform"`
	Modules   []module `json:"modules,omitempty"`
}

type module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// String is one line.
func (b build) String() string {
	return fmt.Sprintf("kaasd %s (%s, %s, %s, %s)", b.Version, b.Revision, b.Date, b.GoVersion, b.Platform)
}

func thisBuild() build {
	b := build{Version: version, Revision: revision, Date: buildDate, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.fill(info)
	}
	b.Version = orElse(b.Version, "devel")
	b.Revision = orElse(b.Revision, "unknown")
	b.Date = orElse(b.Date, "undated")
	return b
}

func (b *build) fill(info *debug.BuildInfo) {
	if v := info.Main.Version; v != "(devel)" {
		b.Version = orElse(b.Version, strings.TrimPrefix(v, "v"))
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = orElse(b.Revision, s.Value[:min(7, len(s.Value))])
		case "vcs.time":
			b.Date = orElse(b.Date, s.Value[:min(len("2006-01-02"), len(s.Value))])
		}
	}
	for _, m := range info.Deps {
		b.Modules = append(b.Modules, module{m.Path, m.Version})
	}
}

// ofBroker is what a broker of this build calls itself.
func (b build) ofBroker() admin.Build {
	return admin.Build{Version: b.Version, Revision: b.Revision}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "say which kaasd this is",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if a.json() {
				return a.document(b)
			}
			a.printf("%s\n", b)
			return nil
		},
	}
}
