// SPDX-License-Identifier: Apache-2.0

// frames [-ca FILE] [-token-file FILE] SERVER BUILD_ID ADDRESS...
// prints the frames of link-time addresses of a binary, innermost first.
package main

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	rawstackv1 "rawstack/v1"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	log.SetFlags(0)
	ca := flag.String("ca", "", "certificate of the service's CA; without it, plain text")
	tokenFile := flag.String("token-file", "", "a file with a token")
	flag.Parse()
	if flag.NArg() < 3 {
		log.Fatal("usage: frames [-ca FILE] [-token-file FILE] SERVER BUILD_ID ADDRESS...")
	}
	buildID, err := hex.DecodeString(flag.Arg(1))
	check(err)
	locations := &rawstackv1.Locations{}
	for _, text := range flag.Args()[2:] {
		address, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
		check(err)
		locations.Kind = append(locations.Kind, rawstackv1.LocationKind_LOCATION_KIND_VADDR)
		locations.Module = append(locations.Module, 0)
		locations.Address = append(locations.Address, address)
	}

	ctx, creds := context.Background(), insecure.NewCredentials()
	if *ca != "" {
		creds, err = credentials.NewClientTLSFromFile(*ca, "")
		check(err)
	}
	if *tokenFile != "" {
		token, err := os.ReadFile(*tokenFile)
		check(err)
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization",
			"Bearer "+strings.TrimSpace(string(token)))
	}
	conn, err := grpc.NewClient(flag.Arg(0), grpc.WithTransportCredentials(creds))
	check(err)
	defer conn.Close()
	reply, err := rawstackv1.NewSymbolizerClient(conn).Symbolize(ctx, &rawstackv1.StackBatch{
		Modules:   []*rawstackv1.Module{{BuildId: buildID}},
		Locations: locations,
	})
	check(err)

	// The reply is columns: each location has a status and a number of frames, each frame a row
	// of functions and a line, each function the indexes of its strings.
	at := 0
	for i, address := range locations.Address {
		count := int(reply.FrameCount[i])
		if count == 0 {
			fmt.Printf("%#x %s\n", address, reply.Status[i])
		}
		for n := 0; n < count; n++ {
			row, inlined := reply.FrameFunction[at], ""
			if n+1 < count {
				inlined = " inlined"
			}
			fmt.Printf("%#x %s %s:%d%s\n", address, reply.Strings[reply.Functions.Name[row]],
				reply.Strings[reply.Functions.File[row]], reply.FrameLine[at], inlined)
			at++
		}
	}
}
