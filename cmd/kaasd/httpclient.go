package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kaasd/internal/admin"
)

// pageFlag is --http and its kin, of the commands that ask kaasd's own pages.
type pageFlag struct{ url, ca, user, passwordFile string }

func (f *pageFlag) add(c *cobra.Command) {
	c.Flags().StringVar(&f.url, "http", "", "kaasd's pages (http://localhost:9404, or what http.listen says here)")
	c.Flags().StringVar(&f.ca, "http-ca", "", "trust the certificates in this PEM file for https pages")
	c.Flags().StringVar(&f.user, "http-user", "", "the user of the pages, where they ask for one")
	c.Flags().StringVar(&f.passwordFile, "http-password-file", "", "the file that holds the user's password")
}

// pages are kaasd's pages at one place.
type pages struct {
	base           string // such as http://localhost:9404
	client         *http.Client
	user, password string // "" for none
}

// open finds the pages: as named, or where a broker with this machine's settings
// has them.
func (f *pageFlag) open(a *app) (*pages, error) {
	p := &pages{client: &http.Client{}, user: f.user}
	var err error
	switch {
	case f.passwordFile != "" && f.user == "":
		return nil, usagef("--http-password-file needs --http-user")
	case f.user != "" && f.passwordFile == "":
		return nil, usagef("--http-user needs --http-password-file")
	case f.user != "":
		if p.password, err = readPassword("--http-password-file", f.passwordFile); err != nil {
			return nil, err
		}
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.url == "" {
		p.base, err = f.own(a, trust)
	} else {
		p.base, err = checkURL(f.url)
	}
	if err != nil {
		return nil, err
	}
	if f.ca != "" {
		if trust, err = trustOnly("--http-ca", f.ca); err != nil {
			return nil, err
		}
	}
	p.client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust}
	return p, nil
}

// checkURL judges --http. A password in it would be seen by everybody on this
// machine.
func checkURL(text string) (string, error) {
	u, err := url.Parse(text)
	bad := err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https"
	switch {
	case bad && strings.Contains(text, "@"): // what stands before it may be a password
		return "", usagef("--http: the value is not a URL (http://localhost:9404)")
	case bad:
		return "", usagef("--http: %q is not a URL (%s)", text, likelyURL(text))
	case u.User != nil:
		return "", usagef("--http: others on this machine can read a password there (--http-user and --http-password-file)")
	}
	return strings.TrimSuffix(text, "/"), nil
}

// likelyURL is the URL that was meant, or one that shows the form.
func likelyURL(text string) string {
	if host, port, err := net.SplitHostPort(text); err == nil && host != "" && !strings.Contains(port, "/") {
		return "http://" + text
	}
	return "http://localhost:9404"
}

// own is where a broker with this machine's settings has its pages. Over TLS it is
// trusted by the certificate that http.config.file names, whatever name that is
// for.
func (f *pageFlag) own(a *app, trust *tls.Config) (string, error) {
	_, s, err := a.load(nil)
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(s.HTTP.Listen)
	if err != nil {
		return "", usagef("http.listen is %q: no pages to ask (--http names them)", s.HTTP.Listen)
	}
	if isWildcard(host) {
		host = "localhost"
	}
	scheme := "http"
	if s.HTTP.File != "" {
		shown, err := admin.Certificate(s.HTTP.File)
		if err != nil {
			return "", exitWith(exitInput, "http.config.file: %w", err)
		}
		if shown != nil {
			scheme = "https"
			trustCertificate(trust, shown)
		}
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}

// answer is what a page said.
type answer struct {
	code int
	body []byte
}

// maxAnswer is far above any page's size: what is larger is no page of kaasd.
const maxAnswer = 64 << 20

// get asks a page within limit.
func (p *pages) get(ctx context.Context, path string, limit time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	target := p.base + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return answer{}, usagef("--http: %q is not a URL", p.base)
	}
	if p.user != "" {
		request.SetBasicAuth(p.user, p.password)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return answer{}, exitWith(exitUnreachable, "cannot reach %s%s%s", hostOf(target), within(limit, err), pageCause(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{}, exitWith(exitUnreachable, "%s did not end its answer: %w", hostOf(target), err)
	}
	if plainToTLS(response.StatusCode, body) {
		host := hostOf(target)
		return answer{}, exitWith(exitUnreachable, "%s speaks TLS (--http https://%s, and --http-ca where this machine does not trust its certificate)", host, host)
	}
	return answer{response.StatusCode, body}, nil
}

// within is the time after which a try was given up, where it was that.
func within(limit time.Duration, err error) string {
	if isTimeout(err) {
		return fmt.Sprintf(" in %v", limit)
	}
	return ""
}

// plainToTLS says whether that is what Go's server answers to a request in the
// clear on a port with TLS.
func plainToTLS(code int, body []byte) bool {
	return code == http.StatusBadRequest && strings.HasPrefix(string(body), "Client sent an HTTP request to an HTTPS server")
}

func hostOf(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return target
	}
	return u.Host
}

// pageCause is what is worth knowing beside the bare fact, and the way out.
func pageCause(err error) string {
	const another = " (is kaasd running? --http names another)"
	var op *net.OpError
	var u *url.Error
	switch {
	case errors.As(err, &op) && op.Op == "dial", errors.Is(err, context.DeadlineExceeded):
		return another
	case errors.As(err, &u):
		err = u.Err
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return ": it does not speak TLS (--http http://.. for pages in the clear)"
	}
	if untrusted(err) {
		return ": " + err.Error() + " (--http-ca names a PEM file with its authority)"
	}
	return ": " + err.Error() + another
}

// document asks for a JSON document and gives its bytes too.
func (p *pages) document(ctx context.Context, path string, v any) ([]byte, error) {
	target := p.base + path
	got, err := p.get(ctx, path, reachTimeout)
	if err != nil {
		return nil, err
	}
	if got.code == http.StatusBadRequest { // the page says what was asked wrongly
		return nil, usagef("%s", firstLine(got.body))
	}
	if got.code == http.StatusUnauthorized || got.code == http.StatusTooManyRequests {
		return nil, exitWith(exitRefused, "%s refused: %s (--http-user and --http-password-file)", hostOf(target), firstLine(got.body))
	}
	if got.code != http.StatusOK {
		return nil, exitWith(exitFailed, "%s: %d %s", target, got.code, firstLine(got.body))
	}
	if err := json.Unmarshal(got.body, v); err != nil {
		return nil, exitWith(exitFailed, "%s is no page of kaasd: %w", target, err)
	}
	return got.body, nil
}

func firstLine(body []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	return fmt.Sprintf("%.200s", line)
}
