module rawstack

go 1.22

require (
	connectrpc.com/connect v1.18.1
	golang.org/x/net v0.28.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240814211410-ddb44dafa142
	google.golang.org/grpc v1.67.1
	google.golang.org/protobuf v1.36.6
)

require (
	golang.org/x/sys v0.24.0 // indirect
	golang.org/x/text v0.17.0 // indirect
)
