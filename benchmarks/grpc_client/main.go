// Repeats one unary gRPC call over many connections. Prints calls, errors, and the latencies p50 and p99 in ms.
package main

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"sort"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// bytesCodec sends and receives messages as they are, so that the client costs little.
type bytesCodec struct{}

func (bytesCodec) Marshal(value any) ([]byte, error) { return *(value.(*[]byte)), nil }

func (bytesCodec) Unmarshal(data []byte, value any) error {
	*(value.(*[]byte)) = append((*(value.(*[]byte)))[:0], data...)
	return nil
}

func (bytesCodec) Name() string { return "proto" }

type result struct {
	failed    int
	latencies []float64
}

func main() {
	address := flag.String("address", "", "host and port")
	method := flag.String("method", "", "/package.Service/Method")
	message := flag.String("message", "", "request in hexadecimal digits")
	token := flag.String("token", "", "bearer token, or empty")
	connections := flag.Int("connections", 16, "each with one call at a time")
	seconds := flag.Float64("seconds", 3, "duration")
	flag.Parse()
	request, err := hex.DecodeString(*message)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if *token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+*token)
	}
	results := make([]result, *connections)
	var group sync.WaitGroup
	end := time.Now().Add(time.Duration(*seconds * float64(time.Second)))
	for number := range results {
		group.Add(1)
		go func() {
			defer group.Done()
			results[number] = repeat(ctx, *address, *method, request, end)
		}()
	}
	group.Wait()
	report(results)
}

func repeat(ctx context.Context, address, method string, request []byte, end time.Time) (done result) {
	channel, err := grpc.NewClient(
		"passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer channel.Close()
	for time.Now().Before(end) {
		began := time.Now()
		var answer []byte
		if err := channel.Invoke(ctx, method, &request, &answer, grpc.ForceCodec(bytesCodec{})); err != nil {
			if done.failed++; done.failed == 1 {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		done.latencies = append(done.latencies, time.Since(began).Seconds()*1000)
	}
	return done
}

func report(results []result) {
	var all []float64
	failed := 0
	for _, each := range results {
		all = append(all, each.latencies...)
		failed += each.failed
	}
	sort.Float64s(all)
	fmt.Printf("%d %d %.2f %.2f\n", len(all)-failed, failed, all[len(all)/2], all[len(all)*99/100])
}
