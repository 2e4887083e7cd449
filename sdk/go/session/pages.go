package session

import (
	"context"
	"errors"
	"iter"
	"net/http"
)

// Every yields the items of a list, page after page. page returns the items at a cursor, at first "", and the
// next cursor, "" after the last page.
func Every[Item any](page func(cursor string) ([]Item, string, error)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var none Item
		for cursor := ""; ; {
			items, next, err := page(cursor)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}

// ErrChanged is what write returns to UpdateWithETag for a 412: the object has changed since it was read.
var ErrChanged = errors.New("the object has changed since it was read")

// UpdateWithETag reads an object and writes the change, and starts over if somebody was quicker, at most five
// times. read returns the object with its ETag; write sends the tag as If-Match.
func UpdateWithETag[Object, Result any](
	ctx context.Context,
	read func(ctx context.Context) (Object, string, error),
	write func(ctx context.Context, object Object, etag string) (Result, error),
) (Result, error) {
	var result Result
	for tried := 1; ; tried++ {
		object, etag, err := read(ctx)
		if err != nil {
			return result, err
		}
		if result, err = write(ctx, object, etag); !errors.Is(err, ErrChanged) || tried == tries {
			return result, err
		}
	}
}

// Changed returns ErrChanged for a response with 412, and otherwise the error of a generated client.
func Changed(response *http.Response, err error) error {
	if response != nil && response.StatusCode == http.StatusPreconditionFailed {
		return ErrChanged
	}
	return err
}
