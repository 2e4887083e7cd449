package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The server sends bookmarks more often than this: a longer silence means a dead connection.
const silence = 90 * time.Second

// Event is an event of the log. Data is what its type describes.
type Event struct {
	Seq        int64           `json:"seq"`
	Type       string          `json:"type"`
	ObjectType string          `json:"object_type"`
	ObjectID   string          `json:"object_id"`
	At         time.Time       `json:"at"`
	Data       json.RawMessage `json:"data"`
}

// Watch yields the events after a number as they happen, until the context ends or the caller stops. It resumes
// where a connection broke. filters: parameters of GET /api/v1/events, such as object_type.
//
// A refusal ends it with a *Problem: code events_gone if events after the number were dropped; read everything
// again then, and watch from the number of a new list.
func Watch(
	ctx context.Context, client *http.Client, server string, after int64, filters url.Values,
) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for failed := 0; ctx.Err() == nil; failed++ {
			read, err := stream(ctx, client, address(server, after, filters), func(event *Event, seq int64) bool {
				after = seq
				return event == nil || yield(*event, nil)
			})
			var problem *Problem
			switch {
			case errors.Is(err, errStopped):
				return
			case errors.As(err, &problem) && problem.Status < http.StatusInternalServerError:
				yield(Event{}, err)
				return
			case read:
				failed = 0
			}
			wait, _ := pause(min(failed+1, tries-1), nil, io.ErrUnexpectedEOF, true)
			if (&Transport{}).sleep(ctx, wait) != nil {
				return
			}
		}
	}
}

var errStopped = errors.New("the caller stopped")

func address(server string, after int64, filters url.Values) string {
	query := url.Values{"after": {strconv.FormatInt(after, 10)}}
	for name, values := range filters {
		query[name] = values
	}
	return strings.TrimSuffix(server, "/") + "/api/v1/events?" + query.Encode()
}

// stream reads one connection; it returns whether anything arrived.
func stream(ctx context.Context, client *http.Client, url string, take func(*Event, int64) bool) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	request.Header.Set("Accept", eventStream)
	response, err := client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false, problemOf(response)
	}
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	return events(response.Body, func() { quiet.Reset(silence) }, take)
}

// events reads server-sent events. The event of a bookmark is nil.
func events(body io.Reader, alive func(), take func(*Event, int64) bool) (bool, error) {
	lines := bufio.NewReader(body)
	fields := map[string]string{}
	read := false
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return read, err
		}
		alive()
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			name, value, _ := strings.Cut(line, ":")
			fields[name] = strings.TrimPrefix(value, " ")
			continue
		}
		seq, bad := strconv.ParseInt(fields["id"], 10, 64)
		if bad == nil {
			event, err := eventOf(fields)
			if err != nil {
				return read, err
			}
			if read = true; !take(event, seq) {
				return read, errStopped
			}
		}
		clear(fields)
	}
}

func eventOf(fields map[string]string) (*Event, error) {
	if fields["event"] == "bookmark" {
		return nil, nil
	}
	event := &Event{}
	return event, json.Unmarshal([]byte(fields["data"]), event)
}
