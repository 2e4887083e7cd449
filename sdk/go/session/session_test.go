package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// served answers with the handlers in turn, and notes the requests.
func served(t *testing.T, handlers ...http.HandlerFunc) (*httptest.Server, *[]*http.Request) {
	var requests []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler := handlers[min(len(requests), len(handlers)-1)]
		requests = append(requests, r)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return server, &requests
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"code": "of-%d"}`, code)
	}
}

func client(pauses *[]time.Duration) *http.Client {
	sleep := func(_ context.Context, wait time.Duration) error {
		*pauses = append(*pauses, wait)
		return nil
	}
	return &http.Client{Transport: &Transport{Token: Fixed("secret"), Sleep: sleep}}
}

func TestWhatWasNotProcessedIsSentAgainWithTheSameKeyAndBody(t *testing.T) {
	var bodies []string
	note := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			next(w, r)
		}
	}
	server, requests := served(t, note(status(503)), note(status(429, "Retry-After", "2")), note(status(201)))
	var pauses []time.Duration

	response, err := client(&pauses).Post(server.URL, "application/json", strings.NewReader(`{"id": "a"}`))

	if err != nil || response.StatusCode != 201 || len(*requests) != 3 {
		t.Fatal(response, err, len(*requests))
	}
	key := (*requests)[0].Header.Get("Idempotency-Key")
	if key == "" || (*requests)[2].Header.Get("Idempotency-Key") != key || bodies[2] != `{"id": "a"}` {
		t.Fatal(key, bodies)
	}
	if pauses[1] < 2*time.Second || (*requests)[0].Header.Get("Authorization") != "Bearer secret" {
		t.Fatal(pauses)
	}
}

func TestWhatMayHaveHappenedIsRepeatedOnlyIfThatIsSafe(t *testing.T) {
	for _, each := range []struct {
		method string
		code   int
		sent   int
	}{
		{"PUT", 502, 1}, {"PUT", 503, 5}, {"DELETE", 504, 1}, {"GET", 502, 5}, {"POST", 504, 5}, {"GET", 404, 1},
	} {
		server, requests := served(t, status(each.code))
		var pauses []time.Duration
		request, _ := http.NewRequest(each.method, server.URL, nil)
		if _, err := client(&pauses).Do(request); err != nil || len(*requests) != each.sent {
			t.Error(each, err, len(*requests))
		}
	}
}

func TestAnUnknownOutcomeIsNotRepeatedAndItsBodyStaysReadable(t *testing.T) {
	server, requests := served(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		fmt.Fprint(w, `{"code": "outcome_unknown"}`)
	})
	var pauses []time.Duration
	request, _ := http.NewRequest("PUT", server.URL, nil)

	response, err := client(&pauses).Do(request)

	body, _ := io.ReadAll(response.Body)
	if err != nil || len(*requests) != 1 || string(body) != `{"code": "outcome_unknown"}` {
		t.Fatal(err, len(*requests), string(body))
	}
}

func TestARefusedTokenIsRenewedOnce(t *testing.T) {
	server, requests := served(t, status(401), status(200))
	token := func(_ context.Context, refused bool) (string, error) { return fmt.Sprint(refused), nil }

	response, err := NewClient(token).Get(server.URL)

	if err != nil || response.StatusCode != 200 || (*requests)[1].Header.Get("Authorization") != "Bearer true" {
		t.Fatal(response, err)
	}
}

func TestAllPagesAreReadAndAnErrorEndsThem(t *testing.T) {
	pages := map[string][]int{"": {1, 2}, "a": {}, "b": {3}}
	next := map[string]string{"": "a", "a": "b", "b": ""}
	var all []int
	for item, err := range Every(func(cursor string) ([]int, string, error) {
		return pages[cursor], next[cursor], nil
	}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, item)
	}
	broken := errors.New("broken")
	var seen error
	for _, err := range Every(func(string) ([]int, string, error) { return nil, "", broken }) {
		seen = err
	}
	if fmt.Sprint(all) != "[1 2 3]" || seen != broken {
		t.Fatal(all, seen)
	}
}

func TestAChangeStartsOverWhenSomebodyWasQuicker(t *testing.T) {
	reads := 0
	read := func(context.Context) (int, string, error) { reads++; return reads, fmt.Sprint(reads), nil }
	write := func(_ context.Context, seen int, etag string) (string, error) {
		if seen < 3 {
			return "", Changed(&http.Response{StatusCode: 412}, errors.New("412"))
		}
		return etag, nil
	}

	result, err := UpdateWithETag(context.Background(), read, write)

	if result != "3" || err != nil {
		t.Fatal(result, err)
	}
}

func TestAWatchResumesAfterTheLastEventOrBookmark(t *testing.T) {
	send := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	server, requests := served(t,
		send("id: 5\nevent: agent.registered\ndata: {\"seq\": 5, \"type\": \"agent.registered\"}\n\nid: 7\nevent: bookmark\n\nid: 8\nda"),
		send("id: 9\ndata: {\"seq\": 9, \"type\": \"agent.ready\"}\n\n"),
		status(410),
	)
	var types []string
	var ended error
	for event, err := range Watch(context.Background(), server.Client(), server.URL, 4, nil) {
		if err != nil {
			ended = err
			break
		}
		types = append(types, event.Type)
	}

	var problem *Problem
	if fmt.Sprint(types) != "[agent.registered agent.ready]" || !errors.As(ended, &problem) || problem.Status != 410 {
		t.Fatal(types, ended)
	}
	if after := (*requests)[1].URL.Query().Get("after"); after != "7" {
		t.Fatal(after)
	}
}
