package session

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand"
	"net/http"
	"strconv"
	"time"
)

const (
	tries         = 5
	base          = 200 * time.Millisecond
	longest       = 30 * time.Second
	peeked  int64 = 64 * 1024
	// The server answered, and does not know either: its database did not confirm the change.
	outcomeUnknown = "outcome_unknown"
)

// Problem is an error document of the API (RFC 9457). Code is stable; texts are not.
type Problem struct {
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Title     string `json:"title"`
	Detail    string `json:"detail"`
	RequestID string `json:"request_id"`
}

func (problem *Problem) Error() string {
	return problem.Code + ": " + problem.Detail + " (request " + problem.RequestID + ")"
}

// repeatable tells whether the request can be sent again although it may have been processed.
func repeatable(method, key string) bool {
	return method == http.MethodGet || (method == http.MethodPost && key != "")
}

// pause returns how long to wait before the next attempt, and whether there is one.
func pause(tried int, response *http.Response, err error, again bool) (time.Duration, bool) {
	worth := again
	retryAfter := ""
	if err == nil {
		worth = isWorth(response, again)
		retryAfter = response.Header.Get("Retry-After")
	}
	if tried >= tries || !worth {
		return 0, false
	}
	luck := rand.Float64()
	if seconds, bad := strconv.ParseUint(retryAfter, 10, 31); bad == nil {
		wait := time.Duration(seconds) * time.Second
		return wait + time.Duration(luck*float64(base)), wait <= longest
	}
	// Full jitter, so that clients do not try again at the same time.
	return time.Duration(luck * float64(min(longest, base<<tried))), true
}

func isWorth(response *http.Response, again bool) bool {
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return again // A gateway lost the response: the request may have been processed.
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable:
		return again || problemOf(response).Code != outcomeUnknown
	}
	return false
}

// problemOf reads the problem document of a response, and puts the body back.
func problemOf(response *http.Response) *Problem {
	problem := &Problem{Status: response.StatusCode}
	start, _ := io.ReadAll(io.LimitReader(response.Body, peeked))
	_ = json.Unmarshal(start, problem)
	response.Body = &joined{io.MultiReader(bytes.NewReader(start), response.Body), response.Body}
	return problem
}

// joined reads from one reader and closes another.
type joined struct {
	io.Reader
	io.Closer
}
