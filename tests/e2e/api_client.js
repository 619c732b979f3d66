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
})).rawstack.v1;
const { Binaries } = load("rawstack/v1/binaries.proto");
const { Symbolizer } = load("rawstack/v1/symbolizer.proto");
const binaries = new Binaries(address, grpc.credentials.createInsecure());
const symbolizer = new Symbolizer(address, grpc.credentials.createInsecure());
const buildId = Buffer.from(id, "hex");

function call(stub, method, request) {
  return new Promise((resolve, reject) => stub[method](request, (error, reply) => {
    if (error) return reject(new Error(`${method}: ${error.message}`));
    console.log(method);
    return resolve(reply);
  }));
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
}

const lastName = (reply) =>
  reply.strings[reply.functions.name[reply.frame_function[reply.frame_function.length - 1]]].toString();

async function lookUp() {
  const locations = { kind: ["LOCATION_KIND_VADDR"], module: [0], address: [vaddr] };
  const batch = { batch_id: Buffer.from("node"), modules: [{ build_id: buildId }], locations };
  const reply = await call(symbolizer, "Symbolize", batch);
  assert.deepStrictEqual(reply.status, ["LOCATION_STATUS_RESOLVED"]);
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

function watch() {
  return new Promise((resolve, reject) => {
    const stream = binaries.Watch({ build_ids: [buildId] });
    stream.on("data", (event) => {
      if (event.status !== "MODULE_STATUS_READY" || !event.build_id.equals(buildId))
        reject(new Error(`Watch: ${event.status}`));
      stream.cancel();
    });
    stream.on("error", (error) => {
      if (error.code !== grpc.status.CANCELLED) return reject(error);
      console.log("Watch");
      return resolve();
    });
  });
}

async function keepBooks() {
  const binary = await call(binaries, "Get", { build_id: buildId });
  assert.ok(binary.report.has_dwarf && binary.name.toString() === "from-node");
  const listed = await call(binaries, "List", { name: Buffer.from("from-node") });
  assert.strictEqual(listed.binaries.length, 1);
  await call(binaries, "Pin", { build_id: buildId, pinned: true });
  await call(binaries, "Missing", {});
  const limits = await call(binaries, "Limits", {});
  assert.ok(Number(limits.batch_locations) >= 1000);
  assert.ok((await call(binaries, "Delete", { build_id: buildId })).deleted);
}

(async () => {
  await upload();
  await lookUp();
  await watch();
  await keepBooks();
  binaries.close();
  symbolizer.close();
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
