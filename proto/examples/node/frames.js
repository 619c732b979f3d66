// SPDX-License-Identifier: Apache-2.0
// node frames.js [--ca FILE] [--token-file FILE] SERVER BUILD_ID ADDRESS...
// Prints the frames of link-time addresses of a binary, innermost first.
'use strict';
const fs = require('fs');
const path = require('path');
const { parseArgs } = require('util');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const { values, positionals } = parseArgs({
  options: { ca: { type: 'string' }, 'token-file': { type: 'string' } },
  allowPositionals: true,
});
const [server, buildId, ...addresses] = positionals;
if (!addresses.length) {
  console.error('usage: node frames.js [--ca FILE] [--token-file FILE] SERVER BUILD_ID ADDRESS...');
  process.exit(2);
}

// Where the contract is: two folders up, unless the file was copied elsewhere. Numbers of 64 bits are
// strings here, because a number of JavaScript has 53.
const proto = process.env.RAWSTACK_PROTO || path.join(__dirname, '../..');
const { v1 } = grpc.loadPackageDefinition(loader.loadSync('rawstack/v1/symbolizer.proto',
  { includeDirs: [proto], longs: String, enums: String, defaults: true })).rawstack;

const credentials = values.ca
  ? grpc.credentials.createSsl(fs.readFileSync(values.ca))
  : grpc.credentials.createInsecure();
const client = new v1.Symbolizer(server, credentials);
const metadata = new grpc.Metadata();
if (values['token-file']) {
  metadata.set('authorization', 'Bearer ' + fs.readFileSync(values['token-file'], 'ascii').trim());
}

client.symbolize({
  modules: [{ buildId: Buffer.from(buildId, 'hex') }],
  locations: {
    kind: addresses.map(() => 'LOCATION_KIND_VADDR'),
    module: addresses.map(() => 0),
    address: addresses.map((a) => BigInt('0x' + a.replace(/^0x/, '')).toString()),
  },
}, metadata, (error, reply) => {
  if (error) {
    console.error(error.message);
    process.exitCode = 1;
    return;
  }
  // The reply is columns: each location has a status and a number of frames, each frame a row of
  // functions and a line, each function the indexes of its strings.
  const text = (string) => reply.strings[string].toString();
  let at = 0;
  addresses.forEach((address, i) => {
    const shown = '0x' + BigInt('0x' + address.replace(/^0x/, '')).toString(16);
    const count = reply.frameCount[i];
    if (!count) console.log(`${shown} ${reply.status[i]}`);
    for (let n = 0; n < count; n++, at++) {
      const row = reply.frameFunction[at];
      console.log(`${shown} ${text(reply.functions.name[row])} ` +
        `${text(reply.functions.file[row])}:${reply.frameLine[at]}${n + 1 < count ? ' inlined' : ''}`);
    }
  });
  client.close();
});
