// SPDX-License-Identifier: Apache-2.0
//
// The whole API by grpc-js: what tests/e2e/service_clients says. Prints the methods it called.
// Usage: api_client.js PROTO-FOLDER ADDRESS FILE SHA256 BUILD-ID VADDR FUNCTION, with the packages in
// $NODE_PATH.
"use strict";
const assert = require("assert");
const fs = require("fs");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const [protos, address, file, sha256, id, hex, name] = process.argv.slice(2);
const vaddr = BigInt(hex).toString();
const load = (path) => grpc.loadPackageDefinition(loader.loadSync(path, {
  keepCase: true, longs: String, enums: String, includeDirs: [protos], defaults: true,
}));
const { Binaries } = load("rawstack/v1/binaries.proto").rawstack.v1;
const { Symbolizer } = load("rawstack/v1/symbolizer.proto").rawstack.v1;
const { Health } = load("grpc/health/v1/health.proto").grpc.health.v1;
const { ServerReflection } = load("grpc/reflection/v1/reflection.proto").grpc.reflection.v1;
const binaries = new Binaries(address, grpc.credentials.createInsecure());
const symbolizer = new Symbolizer(address, grpc.credentials.createInsecure());
const buildId = Buffer.from(id, "hex");
const nobodys = Buffer.from("nobody has it, node");

function quietly(stub, method, request) {
  return new Promise((resolve, reject) => stub[method](request, (error, reply) =>
    (error ? reject(new Error(`${method}: ${error.message}`)) : resolve(reply))));
}

async function call(stub, method, request, shown = method) {
  const reply = await quietly(stub, method, request);
  console.log(shown);
  return reply;
}

async function upload() {
  const content = fs.readFileSync(file);
  const begun = await call(binaries, "Begin", {
    build_id: buildId, size: content.length, sha256: Buffer.from(sha256, "hex"),
    name: Buffer.from("from-node"),
  });
  assert.strictEqual(begun.status, "BEGIN_STATUS_NEEDED");
  const received = await new Promise((resolve, reject) => {
    const stream = binaries.Upload((error, reply) => (error ? reject(error) : resolve(reply)));
    for (let at = Number(begun.offset); at < content.length; at += 10000)
      stream.write({ upload_id: begun.upload_id, offset: at, data: content.subarray(at, at + 10000) });
    stream.end();
  });
  console.log("Upload");
  assert.strictEqual(Number(received.received), content.length);
  const done = await call(binaries, "Finish", { upload_id: begun.upload_id, wait: true });
  assert.strictEqual(done.state, "BUILD_STATE_DONE");
  const again = await quietly(binaries, "Begin", {
    build_id: buildId, size: content.length, sha256: Buffer.from(sha256, "hex"),
  });
  assert.strictEqual(again.status, "BEGIN_STATUS_PRESENT");
  assert.strictEqual(again.report.functions, done.report.functions);
}

const lastName = (reply) =>
  reply.strings[reply.functions.name[reply.frame_function[reply.frame_function.length - 1]]].toString();

async function lookUp() {
  const locations = { kind: ["LOCATION_KIND_VADDR"], module: [0], address: [vaddr] };
  const batch = {
    batch_id: Buffer.from("node"), modules: [{ build_id: buildId }, { build_id: nobodys }], locations,
  };
  const reply = await call(symbolizer, "Symbolize", {
    ...batch,
    locations: {
      kind: ["LOCATION_KIND_VADDR", "LOCATION_KIND_VADDR"], module: [0, 1], address: [vaddr, 5],
      weight: [1, 41],
    },
  });
  assert.deepStrictEqual(reply.status, ["LOCATION_STATUS_RESOLVED", "LOCATION_STATUS_UNKNOWN_MODULE"]);
  assert.strictEqual(reply.modules[1].status, "MODULE_STATUS_MISSING");
  assert.strictEqual(lastName(reply), name);

  const stream = symbolizer.SymbolizeStream();
  const replies = stream[Symbol.asyncIterator]();
  stream.write(batch);
  assert.strictEqual(lastName((await replies.next()).value), name);
  stream.write({ locations });
  assert.strictEqual((await replies.next()).value.strings.length, 0);
  stream.end();
  assert.ok((await replies.next()).done);
  console.log("SymbolizeStream");

  const answer = await call(symbolizer, "Resolve", { build_id: buildId, addresses: [vaddr] });
  assert.strictEqual(answer.addresses[0].frames.at(-1).function.toString(), name);
}

// The first message of a stream that would last; then it is cancelled.
function first(stream, shown) {
  return new Promise((resolve, reject) => {
    let got;
    stream.on("data", (message) => {
      got = got || message;
      stream.cancel();
    });
    stream.on("error", (error) => {
      if (error.code !== grpc.status.CANCELLED || !got) return reject(error);
      console.log(shown);
      return resolve(got);
    });
  });
}

async function watch() {
  const event = await first(binaries.Watch({ build_ids: [buildId] }), "Watch");
  assert.ok(event.status === "MODULE_STATUS_READY" && event.build_id.equals(buildId), event);
}

async function lookAfter() {
  const health = new Health(address, grpc.credentials.createInsecure());
  const reflection = new ServerReflection(address, grpc.credentials.createInsecure());
  const asked = { service: "rawstack.v1.Binaries" };
  assert.strictEqual((await call(health, "Check", asked, "Health.Check")).status, "SERVING");
  assert.strictEqual((await first(health.Watch(asked), "Health.Watch")).status, "SERVING");

  const stream = reflection.ServerReflectionInfo();
  const answers = stream[Symbol.asyncIterator]();
  stream.write({ list_services: "" });
  assert.strictEqual((await answers.next()).value.list_services_response.service.length, 5);
  stream.write({ file_containing_symbol: "rawstack.v1.Symbolizer" });
  assert.ok((await answers.next()).value.file_descriptor_response.file_descriptor_proto.length > 0);
  stream.end();
  assert.ok((await answers.next()).done);
  console.log("ServerReflection.ServerReflectionInfo");
  health.close();
  reflection.close();
}

async function keepBooks() {
  const binary = await call(binaries, "Get", { build_id: buildId });
  assert.ok(binary.report.has_dwarf && binary.name.toString() === "from-node");
  const listed = await call(binaries, "List", { name: Buffer.from("from-node") });
  assert.strictEqual(listed.binaries.length, 1);
  await call(binaries, "Pin", { build_id: buildId, pinned: true });
  assert.ok((await quietly(binaries, "Get", { build_id: buildId })).pinned);
  const missing = await call(binaries, "Missing", {});
  assert.strictEqual(missing.binaries.find((m) => m.build_id.equals(nobodys)).weight, "41");
  const limits = await call(binaries, "Limits", {});
  assert.ok(Number(limits.batch_locations) >= 1000);
  assert.ok((await call(binaries, "Delete", { build_id: buildId })).deleted);
}

(async () => {
  await upload();
  await lookUp();
  await watch();
  await keepBooks();
  await lookAfter();
  binaries.close();
  symbolizer.close();
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
