// Package session gives a generated Go client of Controlplane what generators leave out: retries, idempotency
// keys, renewed tokens, pages, changes over the version that was read, and a watch that resumes.
//
// Copy the folder into your module: it needs only the standard library. The rules are those of cpctl and of the
// Python and TypeScript clients (cpctl/portable).
package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	userAgent      = "controlplane-go/0.1.0"
	defaultTimeout = 10 * time.Second
	eventStream    = "text/event-stream"
)

// Token returns a bearer token. It is called for each request, and again with refused=true after a 401.
type Token func(ctx context.Context, refused bool) (string, error)

// Fixed returns a Token that never changes.
func Fixed(token string) Token {
	return func(context.Context, bool) (string, error) { return token, nil }
}

// Transport sends requests with a token and tries again what is safe to repeat. Safe for concurrent use.
type Transport struct {
	Token Token
	// Next sends one request; nil for http.DefaultTransport.
	Next http.RoundTripper
	// Timeout of one attempt, with the reading of its body; 0 for 10 seconds. Streams have none.
	Timeout time.Duration
	// Sleep waits between attempts; nil waits for real, and ends with the context.
	Sleep func(ctx context.Context, pause time.Duration) error
}

// NewClient returns an HTTP client for a generated client, such as its Configuration.HTTPClient.
func NewClient(token Token) *http.Client {
	return &http.Client{Transport: &Transport{Token: token}}
}

// RoundTrip sends the request until it succeeds, cannot be repeated, or was tried five times.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	key := request.Header.Get("Idempotency-Key")
	if key == "" && request.Method == http.MethodPost {
		key = newKey()
	}
	refused := false
	for tried := 1; ; tried++ {
		response, err := t.once(request, key, refused)
		if err == nil && response.StatusCode == http.StatusUnauthorized && !refused && canRepeat(request) {
			refused = true
			drop(response)
			continue
		}
		wait, again := pause(tried, response, err, repeatable(request.Method, key))
		if !again || !canRepeat(request) || request.Context().Err() != nil {
			return response, err
		}
		drop(response)
		if err := t.sleep(request.Context(), wait); err != nil {
			return nil, err
		}
	}
}

func (t *Transport) once(request *http.Request, key string, refused bool) (*http.Response, error) {
	token, err := t.Token(request.Context(), refused)
	if err != nil {
		return nil, err
	}
	ctx, cancel := t.limited(request)
	attempt := request.Clone(ctx)
	if request.GetBody != nil {
		if attempt.Body, err = request.GetBody(); err != nil {
			cancel()
			return nil, err
		}
	}
	attempt.Header.Set("Authorization", "Bearer "+token)
	attempt.Header.Set("User-Agent", userAgent)
	if key != "" {
		attempt.Header.Set("Idempotency-Key", key)
	}
	response, err := t.next().RoundTrip(attempt)
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &cancelling{response.Body, cancel}
	return response, nil
}

func (t *Transport) next() http.RoundTripper {
	if t.Next == nil {
		return http.DefaultTransport
	}
	return t.Next
}

func (t *Transport) limited(request *http.Request) (context.Context, context.CancelFunc) {
	if strings.Contains(request.Header.Get("Accept"), eventStream) {
		return context.WithCancel(request.Context())
	}
	timeout := t.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	return context.WithTimeout(request.Context(), timeout)
}

func (t *Transport) sleep(ctx context.Context, wait time.Duration) error {
	if t.Sleep != nil {
		return t.Sleep(ctx, wait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// cancelling frees the context of an attempt when its body is closed.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (body *cancelling) Close() error {
	defer body.cancel()
	return body.ReadCloser.Close()
}

// canRepeat tells whether the body can be sent again: requests made from bytes, buffers and strings can.
func canRepeat(request *http.Request) bool {
	return request.Body == nil || request.Body == http.NoBody || request.GetBody != nil
}

func drop(response *http.Response) {
	if response != nil {
		_, _ = io.CopyN(io.Discard, response.Body, peeked)
		_ = response.Body.Close()
	}
}

func newKey() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails since Go 1.24
	return hex.EncodeToString(random)
}
