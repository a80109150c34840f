GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null)
REVISION ?= $(shell git rev-parse --short HEAD 2>/dev/null)
LDFLAGS  := -s -w -X main.version=$(VERSION)
SBOM     := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: build test race lint fuzz bench e2e soak image sbom licences clean

build:  ; CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o dist/kaasd ./cmd/kaasd
test:   ; $(GO) test -timeout 30m ./...
race:   ; $(GO) test -race -short -timeout 30m ./...
lint:   ; test -z "$$(gofmt -l .)" && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...
fuzz:   ; scripts/fuzz.sh 30s
bench:  ; $(GO) test -run '^$$' -bench . -benchmem ./...
e2e:    build ; scripts/e2e.sh
soak:   build ; scripts/soak.sh
image:  ; docker build -t kaasd:latest --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) .
sbom:   build ; $(GO) run $(SBOM) bin -json -licenses -std -version '$(VERSION)' -output dist/kaasd.cdx.json dist/kaasd
licences: ; $(GO) run ./scripts/licences
clean:  ; rm -rf dist .cache
