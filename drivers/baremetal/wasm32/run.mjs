// Runs the loader: node run.mjs MODULE [ARCHIVE]. The status is 0 when all is as it should be.
//
// It is also the host: it reads files, prints, and measures how deep the stack was, by painting it.
import { readFileSync, writeSync } from "node:fs";

const fixtures = new URL("../../../fixtures/", import.meta.url);
const [module, archive = new URL("kpack/board.kpack", fixtures)] = process.argv.slice(2);
// In the order of common::File.
const files = [
  archive,
  ...[
    "kpack/bad/huge-toc-map.kpack",
    "kpack/bad/original-size-2-40.kpack",
    "kpack/bad/frame-size-max.kpack",
    "kpack/bad/checksum-wrong.kpack",
    "gguf/tiny-llama.gguf",
    "gguf/bad/string-len-max.gguf",
    "sse/chat.http",
  ].map((path) => new URL(path, fixtures)),
].map((path) => readFileSync(path));
// And the body of the last one, without its chunks: a length in hexadecimal digits, CR LF, so many bytes, CR LF.
const answer = files.at(-1);
const body = [];
for (let at = answer.indexOf("\r\n\r\n") + 4; at < answer.length; ) {
  const end = answer.indexOf("\r\n", at);
  const size = parseInt(answer.toString("latin1", at, end), 16);
  body.push(answer.subarray(end + 2, end + 2 + size));
  at = end + 2 + size + 2;
}
files.push(Buffer.concat(body));

let memory;
const host = {
  len: (file) => BigInt(files[file].length),
  read: (file, offset, at, len) =>
    files[file].copy(new Uint8Array(memory.buffer, at, len), 0, Number(offset), Number(offset) + len),
  print: (at, len) => writeSync(1, new Uint8Array(memory.buffer, at, len)),
};

const bytes = readFileSync(module);
const { instance } = await WebAssembly.instantiate(bytes, { host });
const { run, __stack_pointer: top, __data_end: dataEnd } = instance.exports;
memory = instance.exports.memory;

// The stack lies below the data and grows towards 0.
const paint = 0xcc;
const stack = () => new Uint8Array(memory.buffer, 0, top.value);
stack().fill(paint);
const right = run() === 1;
const room = stack().length;
const free = stack().findIndex((byte) => byte !== paint);
const used = room - (free < 0 ? room : free);
console.log(`stack: ${used} bytes`);

// The sizes of the module's sections: 10 is code, 11 is data, both with their own heads.
const sections = { 10: 0, 11: 0 };
for (let at = 8; at < bytes.length; ) {
  const id = bytes[at++];
  let size = 0;
  for (let shift = 0, more = true; more; shift += 7) {
    more = bytes[at] >= 0x80;
    size += (bytes[at++] & 0x7f) * 2 ** shift;
  }
  if (id in sections) sections[id] += size;
  at += size;
}
console.log(`sections: code ${sections[10]} data ${sections[11]} statics ${dataEnd.value - room}`);
if (used >= room) console.log("FAILED: the stack was too small");
process.exit(right && used < room ? 0 : 1);
