package broker

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// CheckFiles reads the files that a start with the configuration reads, as it does:
// the credentials, the certificates with their keys and authorities, and what stands
// before the pages with the files that it names. What is wrong with any of them is a
// BadFile, all joined; what a start would warn of goes to the log. Nothing is bound,
// made or watched, and the data folder is not looked at.
func CheckFiles(cfg Config, log *zap.Logger) error {
	b := &Broker{cfg: cfg, log: log, reg: prometheus.NewRegistry()}
	return errors.Join(b.openCredentials(), b.openCertificates(), b.openGate())
}
