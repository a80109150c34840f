package main

import (
	"context"
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
)

// pageFlag is --http of the commands that ask kaasd's own pages.
type pageFlag struct{ url string }

func (f *pageFlag) add(c *cobra.Command) {
	c.Flags().StringVar(&f.url, "http", "", "kaasd's pages (http://localhost:9404, or what http.listen says here)")
}

// base is where the pages are: as named, or where a broker with this
// machine's settings has them.
func (f *pageFlag) base(a *app) (string, error) {
	if f.url != "" {
		u, err := url.Parse(f.url)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "", usagef("--http: %q is not a URL (http://localhost:9404)", f.url)
		}
		return strings.TrimSuffix(f.url, "/"), nil
	}
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
	return "http://" + net.JoinHostPort(host, port), nil
}

// answer is what a page said.
type answer struct {
	code int
	body []byte
}

// maxAnswer is far above any page's size: what is larger is no page of kaasd.
const maxAnswer = 64 << 20

// get asks a page within limit.
func get(ctx context.Context, target string, limit time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return answer{}, usagef("--http: %q is not a URL", target)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, exitWith(exitUnreachable, "cannot reach %s in %v%s (is kaasd running? --http names another)", hostOf(target), limit, pageCause(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{}, exitWith(exitUnreachable, "%s did not end its answer: %w", hostOf(target), err)
	}
	return answer{response.StatusCode, body}, nil
}

func hostOf(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return target
	}
	return u.Host
}

// pageCause is what is worth knowing beside the bare fact.
func pageCause(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" || errors.Is(err, context.DeadlineExceeded) {
		return ""
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return ": " + err.Error()
}

// getDocument asks for a JSON document and gives its bytes too.
func getDocument(ctx context.Context, target string, v any) ([]byte, error) {
	got, err := get(ctx, target, reachTimeout)
	if err != nil {
		return nil, err
	}
	if got.code == http.StatusBadRequest { // the page says what was asked wrongly
		return nil, usagef("%s", firstLine(got.body))
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
