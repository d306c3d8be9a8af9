import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { constants, extent, messageStructs, Region, sharedStructs, view } from "#protocol";

const program = "build/native/tests/agreement";
const cppName = (name: string) => (name === "class" ? "class_" : name);

test("C++ and TypeScript put every field at the same place with the same size", () => {
  const theirs: unknown = JSON.parse(execFileSync(program, { encoding: "utf8" }));
  const ours = [...sharedStructs, ...messageStructs].flatMap((struct) =>
    Object.entries(struct.fields).map(([name, field]) => ({
      struct: struct.name,
      field: cppName(name),
      offset: (struct.offsets as Record<string, number>)[name],
      size: extent(field).size,
    })),
  );
  expect(ours.length).toBeGreaterThan(100);
  expect(theirs).toEqual(ours);
});

test("what TypeScript writes is what C++ reads", () => {
  const buffer = new ArrayBuffer(Region.size);
  const region = view(Region, buffer);
  new BigUint64Array(buffer)[0] = constants.MAGIC;
  region.header.version = 7;
  region.header.size = Region.size;
  region.settings.chunkUs = 4_000_000_001;
  region.roster.turn = 5;
  const [hold] = region.holds.slice(7);
  const high = region.high[31];
  const bestEffort = region.bestEffort[7];
  if (!high || !bestEffort || !hold) throw new Error("the last slots are missing");
  hold.word = 3;
  region.header.gpuName =
    "an ünusually löng näme that does not fit in the field at all, of all names";
  high.bursts = 2 ** 52 + 1;
  high.histogram.set(high.histogram.length - 1, 9);
  bestEffort.memoryQuota = 20 * 2 ** 30;
  const path = join(mkdtempSync(join(tmpdir(), "cotenant-")), "region");
  writeFileSync(path, new Uint8Array(buffer));

  const read: unknown = JSON.parse(execFileSync(program, [path], { encoding: "utf8" }));
  expect(read).toEqual({
    magic: constants.MAGIC.toString(16),
    version: 7,
    size: Region.size,
    chunkUs: 4_000_000_001,
    turn: 5,
    hold7: 3,
    name: region.header.gpuName,
    bursts: 2 ** 52 + 1,
    lastBucket: 9,
    memoryQuota: 20 * 2 ** 30,
  });
  expect(region.header.gpuName.startsWith("an ünusually löng")).toBe(true);
});

test("a view over too little memory is refused", () => {
  expect(() => view(Region, new ArrayBuffer(Region.size - 8))).toThrow(RangeError);
});
