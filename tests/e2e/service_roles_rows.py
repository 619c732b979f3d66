# SPDX-License-Identifier: Apache-2.0
"""Who may call what: one row for each RPC of the contract and for each page of the HTTP port. The build fails
when one has no row here (check_rows), and e2e/service_roles tries each row."""
LOOKUP = ("read", "host", "write", "admin")
READ = ("read", "write", "admin")
UPLOAD = ("host", "write", "admin")
WRITE = ("write", "admin")
ANYBODY = None
HERE = "loopback"

RPCS = {
    "/rawstack.v1.Symbolizer/Symbolize": LOOKUP,
    "/rawstack.v1.Symbolizer/SymbolizeStream": LOOKUP,
    "/rawstack.v1.Symbolizer/Resolve": LOOKUP,
    "/rawstack.v1.Binaries/Begin": UPLOAD,
    "/rawstack.v1.Binaries/Upload": UPLOAD,
    "/rawstack.v1.Binaries/Finish": UPLOAD,
    "/rawstack.v1.Binaries/Get": READ,
    "/rawstack.v1.Binaries/List": READ,
    "/rawstack.v1.Binaries/Delete": WRITE,
    "/rawstack.v1.Binaries/Pin": WRITE,
    "/rawstack.v1.Binaries/Missing": READ,
    "/rawstack.v1.Binaries/Watch": LOOKUP,
    "/rawstack.v1.Binaries/Limits": LOOKUP,
    "/grpc.health.v1.Health/Check": ANYBODY,
    "/grpc.health.v1.Health/Watch": ANYBODY,
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo": LOOKUP,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": LOOKUP,
}

# Pages know no identity: they are for anybody who reaches the port, or for clients on loopback (HERE).
PAGES = {
    "/metrics": ANYBODY,
    "/healthz": ANYBODY,
    "/readyz": ANYBODY,
    "/status": HERE,
}
