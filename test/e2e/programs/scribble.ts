// Writes into memory files without a pause until it is killed: scribble.ts extremes|holes FILE…
// extremes: values at the preemption points of what numbers of 4 and 8 bytes can hold, and noise, all over them. holes: gives their
// pages back to the kernel.
import { fstatSync, openSync } from "node:fs";
import koffi from "koffi";
import { MappedRange } from "#agent";
import { sfc32 } from "#core";

const [kind, ...paths] = process.argv.slice(2);

const extremes = [0n, 1n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 63n, 2n ** 64n - 1n];

const files = paths.map((path) => {
  const fd = openSync(path, "r+");
  const { size } = fstatSync(fd);
  const range = new MappedRange(size);
  range.put(fd, 0, size);
  return {
    fd,
    size,
    longs: new BigUint64Array(range.buffer),
    words: new Uint32Array(range.buffer),
  };
});

const random = sfc32(7);
const below = (limit: number) => Math.floor(random() * limit);

function writeExtreme({ longs, words }: (typeof files)[number]): void {
  const noise = BigInt(below(2 ** 32)) * 2n ** 32n + BigInt(below(2 ** 32));
  const value = extremes[below(extremes.length + 1)] ?? noise;
  // Half of them into the first words, which others act on.
  const within = random() < 0.5 ? Math.min(16, longs.length) : longs.length;
  if (random() < 0.5) longs[below(within)] = value;
  else words[below(2 * within)] = Number(value & 0xffffffffn);
}

const fallocate = koffi
  .load("libc.so.6")
  .func("int fallocate(int fd, int mode, int64_t offset, int64_t size)");
/** FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE. */
const PUNCH = 1 | 2;

function writeOnce(file: (typeof files)[number]): void {
  if (kind === "extremes") writeExtreme(file);
  else if (fallocate(file.fd, PUNCH, 0, file.size) !== 0) throw new Error("no hole");
}

console.error("scribbling");
for (;;) for (const file of files) writeOnce(file);
