package admin

import (
	"net/http"
	"time"
)

// Status is what runs here: the document of /v1/status.
type Status struct {
	Version      string        `json:"version"`
	Started      time.Time     `json:"started"`
	ClusterID    string        `json:"cluster_id"`
	NodeID       int32         `json:"node_id"`
	QuotaModel   string        `json:"quota_model"`
	Listeners    []Listener    `json:"listeners"`
	Data         Data          `json:"data"`
	Credentials  Credentials   `json:"credentials"`
	Certificates *Certificates `json:"certificates,omitempty"` // where a listener has TLS
	HTTPConfig   *HTTPConfig   `json:"http_config,omitempty"`  // where there is an http.config.file
	Counts       Counts        `json:"counts"`
}

// Listener is where clients connect and what they are told.
type Listener struct {
	Name       string `json:"name"`
	Protocol   string `json:"protocol"`
	Address    string `json:"address"`
	Advertised string `json:"advertised"`
}

// Data is the data folder.
type Data struct {
	Dir       string `json:"dir"`
	SizeBytes int64  `json:"size_bytes"`
}

// Credentials is the state of the credentials file.
type Credentials struct {
	File     string     `json:"file"`     // as set; empty: none
	Resolved string     `json:"resolved"` // after links
	SHA256   string     `json:"sha256"`   // of the content in force
	Users    int        `json:"users"`
	LastGood *time.Time `json:"last_good"`
	LastTry  *time.Time `json:"last_try"`
	Error    string     `json:"error"` // of the last try; empty: it was good
}

// Certificates is the state of the files of TLS listeners.
type Certificates struct {
	NotAfter     time.Time `json:"not_after"` // of the first that ends
	InForceSince time.Time `json:"in_force_since"`
	Error        string    `json:"error"` // of the last try; empty: it was good
}

// HTTPConfig is the state of http.config.file and of the files that it names.
type HTTPConfig struct {
	NotAfter     *time.Time `json:"not_after,omitempty"` // of the pages' certificate, or the authorities of clients, if they end first; not there: the pages are served in the clear
	InForceSince time.Time  `json:"in_force_since"`
	Error        string     `json:"error"` // of the last try; empty: it was good
}

// Counts are what a broker is full of.
type Counts struct {
	Connections int `json:"connections"`
	Topics      int `json:"topics"`
	Partitions  int `json:"partitions"`
	Quotas      int `json:"quotas"` // entities with a setting
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) {
	document(w, s.deps.Status())
}
