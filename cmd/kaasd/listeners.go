package main

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"kaasd/internal/certificate"
	"kaasd/internal/metadata"
	"kaasd/internal/server"
)

// controller is the listener that Kafka's own brokers talk on; there is
// nothing to talk about with oneself.
const controller = "CONTROLLER"

// listenerOptions are the settings of single listeners. They have no flags,
// which are made before the listeners are known.
func (g *given) listenerOptions() []option {
	i := slices.IndexFunc(g.table, func(o option) bool { return o.key == "listeners" })
	bound, err := parseEndpoints(g.value(g.table[i]).text)
	if err != nil {
		return nil // settleListeners tells
	}
	var all []option
	for _, e := range bound {
		if e.name != controller {
			all = append(all, propertyOption(metadata.ListenerConnectionRate(e.name)), listenerClientAuthOption(e.name))
		}
	}
	return all
}

// listenerClientAuthOption is ssl.client.auth for one listener, which alone can
// ask for certificates where clients log in by SASL.
func listenerClientAuthOption(name string) option {
	o := clientAuthOption("listener.name."+strings.ToLower(name)+".ssl.client.auth", func(s *settings, auth certificate.ClientAuth) {
		if s.TLS.ListenerClientAuth == nil {
			s.TLS.ListenerClientAuth = map[string]certificate.ClientAuth{}
		}
		s.TLS.ListenerClientAuth[name] = auth
	})
	o.def, o.unset = "", "ssl.client.auth; none where clients log in by SASL"
	return o.says("whether clients of this listener show a certificate")
}

// settleListeners joins the three settings that make the listeners.
func (g *given) settleListeners(s *settings) []error {
	if s.listeners == "" {
		s.listeners = "PLAINTEXT://localhost:9092"
	}
	protocols, errMap := parseProtocolMap(s.protocolMap)
	bound, err := parseEndpoints(s.listeners)
	advertised, errAdv := parseEndpoints(s.advertised)
	if wrong := g.about(map[string]error{"listener.security.protocol.map": errMap, "listeners": err, "advertised.listeners": errAdv}); wrong != nil {
		return wrong
	}
	s.Listeners = nil
	var wrong []error
	for _, e := range bound {
		if e.name == controller {
			s.dropped = append(s.dropped, e.String())
			continue
		}
		l, err := e.listener(protocols)
		if err != nil {
			wrong = append(wrong, g.about(map[string]error{"listeners": err})...)
			continue
		}
		s.Listeners = append(s.Listeners, l)
	}
	return append(wrong, g.about(map[string]error{"advertised.listeners": advertise(s.Listeners, advertised)})...)
}

// about turns errors into those of the settings they are about.
func (g *given) about(faults map[string]error) []error {
	var wrong []error
	for _, o := range g.table {
		if err := faults[o.key]; err != nil {
			v := g.value(o)
			wrong = append(wrong, exitWith(v.exitCode(), "%s: %w", v.where(o.key), err))
		}
	}
	return wrong
}

// endpoint is NAME://host:port.
type endpoint struct {
	name string
	host string // empty: all interfaces
	port int
}

// String is the notation of the setting.
func (e endpoint) String() string {
	return e.name + "://" + net.JoinHostPort(e.host, strconv.Itoa(e.port))
}

func parseEndpoints(text string) ([]endpoint, error) {
	var all []endpoint
	for _, word := range splitList(text, ",") {
		name, address, ok := strings.Cut(word, "://")
		host, port, err := net.SplitHostPort(address)
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("%q is not NAME://host:port", word)
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%q: %q is not a port", word, port)
		}
		all = append(all, endpoint{strings.ToUpper(name), host, int(n)})
	}
	return all, nil
}

// protocolNames are all of Kafka's.
var protocolNames = []string{"PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL"}

// parseProtocolMap reads NAME:PROTOCOL pairs; every protocol's own name maps
// to it unless the text says otherwise.
func parseProtocolMap(text string) (map[string]string, error) {
	protocols := map[string]string{}
	for _, name := range protocolNames {
		protocols[name] = name
	}
	for _, word := range splitList(text, ",") {
		name, protocol, ok := strings.Cut(word, ":")
		protocol = strings.ToUpper(strings.TrimSpace(protocol))
		if !ok || !slices.Contains(protocolNames, protocol) {
			return nil, fmt.Errorf("%q is not NAME:PROTOCOL (%s)", word, strings.Join(protocolNames, ", "))
		}
		protocols[strings.ToUpper(strings.TrimSpace(name))] = protocol
	}
	return protocols, nil
}

// sayProtocol is the entry that a name needs which is no protocol. It must not
// take the encryption from whoever copies it.
func sayProtocol(name string) string {
	if strings.Contains(name, "TLS") || strings.Contains(name, "SSL") {
		return fmt.Sprintf("%s:SSL says one, or %s:SASL_SSL with log-ins", name, name)
	}
	return fmt.Sprintf("%s:PROTOCOL says one of %s", name, strings.Join(protocolNames, ", "))
}

func (e endpoint) listener(protocols map[string]string) (server.Listener, error) {
	protocol, ok := protocols[e.name]
	if !ok {
		return server.Listener{}, fmt.Errorf("%s: the name says no protocol (listener.security.protocol.map: %s)", e, sayProtocol(e.name))
	}
	host := e.host
	if isWildcard(host) {
		host = "localhost"
	}
	return server.Listener{Name: e.name, Protocol: server.Protocol(protocol), Address: net.JoinHostPort(e.host, strconv.Itoa(e.port)), Host: host}, nil
}

func isWildcard(host string) bool { return host == "" || host == "0.0.0.0" || host == "::" }

// advertise writes into the listeners what their clients are told.
func advertise(listeners []server.Listener, advertised []endpoint) error {
	for _, e := range advertised {
		if e.name == controller {
			continue
		}
		i := slices.IndexFunc(listeners, func(l server.Listener) bool { return l.Name == e.name })
		if i < 0 {
			return fmt.Errorf("%s: there is no listener of that name (listeners)", e)
		}
		if isWildcard(e.host) {
			return fmt.Errorf("%s: clients cannot be told a wildcard (a host name or address is needed)", e)
		}
		listeners[i].Host, listeners[i].Port, listeners[i].Pinned = e.host, e.port, true
	}
	return nil
}
