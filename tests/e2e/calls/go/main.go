// SPDX-License-Identifier: Apache-2.0

// calls grpc|connect SERVER opens|large|busy
// tells what gRPC for Go, or Connect for Go, sees of calls that open, and of calls that are refused.
package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/net/http2"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	v1 "rawstack/v1"
	"rawstack/v1/rawstackv1connect"
)

// Far above what a call takes, so that one that never opens is told.
const patience = 2 * time.Minute

// One event of a watch, or its end.
type watch interface{ wait() error }

type client interface {
	watch(context.Context, *v1.WatchRequest) (watch, error) // returns once the server answers
	stream(context.Context) error
	symbolize(context.Context, *v1.StackBatch) error
	refusal(error) (string, time.Duration)
}

type grpcClient struct {
	binaries   v1.BinariesClient
	symbolizer v1.SymbolizerClient
}

type grpcWatch struct{ v1.Binaries_WatchClient }

func (w grpcWatch) wait() error {
	_, err := w.Recv()
	return err
}

func (c grpcClient) watch(ctx context.Context, request *v1.WatchRequest) (watch, error) {
	w, err := c.binaries.Watch(ctx, request)
	if err != nil {
		return nil, err
	}
	_, err = w.Header()
	return grpcWatch{w}, err
}

func (c grpcClient) stream(ctx context.Context) error {
	s, err := c.symbolizer.SymbolizeStream(ctx)
	if err != nil {
		return err
	}
	_, err = s.Header()
	return err
}

func (c grpcClient) symbolize(ctx context.Context, batch *v1.StackBatch) error {
	_, err := c.symbolizer.Symbolize(ctx, batch)
	return err
}

func (c grpcClient) refusal(err error) (string, time.Duration) {
	s := status.Convert(err)
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return s.Code().String(), info.RetryDelay.AsDuration()
		}
	}
	return s.Code().String(), 0
}

type connectClient struct {
	binaries   rawstackv1connect.BinariesClient
	symbolizer rawstackv1connect.SymbolizerClient
}

type connectWatch struct {
	*connect.ServerStreamForClient[v1.WatchEvent]
}

func (w connectWatch) wait() error {
	w.Receive()
	return w.Err()
}

func (c connectClient) watch(ctx context.Context, request *v1.WatchRequest) (watch, error) {
	w, err := c.binaries.Watch(ctx, connect.NewRequest(request))
	if err == nil {
		err = answered(ctx, w.ResponseHeader())
	}
	return connectWatch{w}, err
}

// The headers of a call that ended without an answer are empty.
func answered(ctx context.Context, header http.Header) error {
	if header.Get("Content-Type") == "" {
		return fmt.Errorf("no answer: %v", ctx.Err())
	}
	return nil
}

func (c connectClient) stream(ctx context.Context) error {
	s := c.symbolizer.SymbolizeStream(ctx)
	if err := s.Send(nil); err != nil { // no message, only the request's headers
		return err
	}
	return answered(ctx, s.ResponseHeader())
}

func (c connectClient) symbolize(ctx context.Context, batch *v1.StackBatch) error {
	_, err := c.symbolizer.Symbolize(ctx, connect.NewRequest(batch))
	return err
}

func (c connectClient) refusal(err error) (string, time.Duration) {
	// The numbers are gRPC's, and so are the names here.
	code := codes.Code(connect.CodeOf(err)).String()
	if e, ok := err.(*connect.Error); ok {
		for _, detail := range e.Details() {
			value, _ := detail.Value()
			if info, ok := value.(*errdetails.RetryInfo); ok {
				return code, info.RetryDelay.AsDuration()
			}
		}
	}
	return code, 0
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func newClient(kind, server string) client {
	if kind == "grpc" {
		conn, err := grpc.NewClient(server, grpc.WithTransportCredentials(insecure.NewCredentials()))
		check(err)
		return grpcClient{v1.NewBinariesClient(conn), v1.NewSymbolizerClient(conn)}
	}
	http := &http.Client{Transport: &http2.Transport{
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}
	address := "http://" + server
	return connectClient{rawstackv1connect.NewBinariesClient(http, address, connect.WithGRPC()),
		rawstackv1connect.NewSymbolizerClient(http, address, connect.WithGRPC())}
}

func ids(count int) *v1.WatchRequest {
	request := &v1.WatchRequest{}
	for i := 0; i < count; i++ {
		request.BuildIds = append(request.BuildIds, binary.BigEndian.AppendUint64(nil, uint64(i)))
	}
	return request
}

// Watches of the largest size, until one is refused.
func refusedWatch(ctx context.Context, c client) error {
	ends := make(chan error)
	for i := 0; i < 64; i++ {
		go func() {
			w, err := c.watch(ctx, ids(8192))
			if err == nil {
				err = w.wait()
			}
			ends <- err
		}()
	}
	return <-ends
}

func main() {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := newClient(os.Args[1], os.Args[2])
	var refused error
	switch os.Args[3] {
	case "opens":
		_, err := c.watch(ctx, ids(1))
		check(err)
		fmt.Println("Watch opens")
		check(c.stream(ctx))
		fmt.Println("SymbolizeStream opens")
		return
	case "large":
		refused = c.symbolize(ctx, &v1.StackBatch{Strings: [][]byte{make([]byte, 5<<20)}})
	case "busy":
		refused = refusedWatch(ctx, c)
	}
	code, after := c.refusal(refused)
	fmt.Println(code, after.Milliseconds())
}
