// The client of `python -m benchmarks.fast_paths`: puts of etcd's own client, or whole HTTP/1.1 requests,
// on so many connections, one request after the other on each. Prints one JSON document.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/client/v3"
)

type result struct {
	Answers   int       `json:"answers"`
	Errors    int       `json:"errors"`
	Seconds   float64   `json:"seconds"`
	Latencies []float64 `json:"latencies"`
}

// A caller makes one request.
type caller func() error

func main() {
	mode := flag.String("mode", "http", "http or etcd")
	address := flag.String("address", "", "host:port")
	connections := flag.Int("connections", 32, "")
	seconds := flag.Float64("seconds", 2, "measured")
	warmUp := flag.Float64("warm-up", 1, "seconds before")
	requests := flag.String("requests", "", "file: each request after its length and a line feed")
	status := flag.String("status", "200", "anything else is an error")
	flag.Parse()

	callers := make([]caller, *connections)
	var whole [][]byte
	if *mode == "http" {
		whole = read(*requests)
	}
	for i := range callers {
		if *mode == "etcd" {
			callers[i] = putter(*address)
		} else {
			callers[i] = sender(*address, whole, *status)
		}
	}
	began := time.Now().Add(time.Duration(*warmUp * float64(time.Second)))
	until := began.Add(time.Duration(*seconds * float64(time.Second)))
	parts := make([]result, *connections)
	var group sync.WaitGroup
	for i, call := range callers {
		group.Add(1)
		go func() {
			defer group.Done()
			parts[i] = drive(call, began, until)
		}()
	}
	group.Wait()
	sum := result{Seconds: *seconds, Latencies: []float64{}}
	for _, part := range parts {
		sum.Answers += part.Answers
		sum.Errors += part.Errors
		sum.Latencies = append(sum.Latencies, part.Latencies...)
	}
	json.NewEncoder(os.Stdout).Encode(sum)
}

func drive(call caller, began, until time.Time) result {
	var part result
	for {
		start := time.Now()
		if start.After(until) {
			return part
		}
		err := call()
		if start.Before(began) {
			continue
		}
		if err != nil {
			part.Errors++
			continue
		}
		part.Answers++
		if part.Answers%8 == 0 {
			part.Latencies = append(part.Latencies, time.Since(start).Seconds())
		}
	}
}

func putter(address string) caller {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, DialTimeout: 5 * time.Second})
	if err != nil {
		panic(err)
	}
	value := strings.Repeat("v", 128)
	return func() error {
		_, err := client.Put(context.Background(), "agent/"+strconv.Itoa(rand.Intn(100000)), value)
		return err
	}
}

func sender(address string, whole [][]byte, status string) caller {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	answers := bufio.NewReaderSize(connection, 32*1024)
	return func() error {
		if _, err := connection.Write(whole[rand.Intn(len(whole))]); err != nil {
			return err
		}
		return answer(answers, status)
	}
}

// answer reads one response with a Content-Length, or without a body.
func answer(from *bufio.Reader, status string) error {
	length, first := 0, ""
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			panic(err)
		}
		if first == "" {
			first = line
		}
		if line == "\r\n" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "content-length") {
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	if _, err := from.Discard(length); err != nil {
		panic(err)
	}
	if len(first) < 12 || first[9:12] != status {
		return fmt.Errorf("answered %q", first)
	}
	return nil
}

func read(name string) [][]byte {
	file, err := os.Open(name)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	from, whole := bufio.NewReader(file), [][]byte{}
	for {
		line, err := from.ReadString('\n')
		if err == io.EOF {
			return whole
		}
		length, _ := strconv.Atoi(strings.TrimSpace(line))
		request := make([]byte, length)
		if _, err := io.ReadFull(from, request); err != nil {
			panic(err)
		}
		whole = append(whole, request)
	}
}
