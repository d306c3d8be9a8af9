import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { fatBinaryBytes, isFatBinary, LONGEST_TEXT, lz4Block, ptxOf } from "./fatbin.ts";

const source = `
__global__ void scaled(float* y, float a) { y[blockIdx.x * blockDim.x + threadIdx.x] *= a; }
template <int N> __global__ void repeated(float* y) { for (int k = 0; k < N; k++) y[k] *= 1.5f + k; }
template __global__ void repeated<3>(float*);
template __global__ void repeated<40>(float*);
`;
const { CUDA_HOME } = process.env;
const folders = [...(CUDA_HOME ? [CUDA_HOME] : []), "/usr/local/cuda", "/usr/local"];
const compiler = folders.map((folder) => join(folder, "bin/nvcc")).find(existsSync);
const directory = mkdtempSync(join(tmpdir(), "cotenant-fatbin-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A container of uncompressed texts in nvcc's format. */
function container(...entries: { architecture: number; text: string; kind?: number }[]) {
  const bodies = entries.map(({ text }) => new TextEncoder().encode(text));
  const sizes = bodies.map(({ length }) => 64 + Math.ceil((length + 1) / 8) * 8);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const bytes = new Uint8Array(16 + total);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0xba55ed50, true);
  view.setUint16(4, 1, true);
  view.setUint16(6, 16, true);
  view.setBigUint64(8, BigInt(total), true);
  let at = 16;
  entries.forEach(({ architecture, kind = 1 }, i) => {
    const size = sizes[i] ?? 0;
    view.setUint16(at, kind, true);
    view.setUint32(at + 4, 64, true);
    view.setBigUint64(at + 8, BigInt(size - 64), true);
    view.setUint32(at + 28, architecture, true);
    bytes.set(bodies[i] ?? [], at + 64);
    at += size;
  });
  return bytes;
}

const unpack = (image: Uint8Array) =>
  ptxOf(image).map(({ architecture, text }) => ({ architecture, text: text() }));

describe("a fat binary", () => {
  const image = container(
    { architecture: 80, text: ".version 8.0" },
    { architecture: 90, text: "machine code", kind: 2 },
    { architecture: 90, text: ".version 9.0" },
  );

  test("gives the PTX of each architecture", () => {
    expect(isFatBinary(image)).toBe(true);
    expect(fatBinaryBytes(image)).toBe(image.length);
    expect(unpack(image)).toEqual([
      { architecture: 80, text: ".version 8.0" },
      { architecture: 90, text: ".version 9.0" },
    ]);
  });

  test("that is cut off gives the entries that are whole", () => {
    expect(unpack(image.subarray(0, image.length - 1))).toEqual([
      { architecture: 80, text: ".version 8.0" },
    ]);
  });

  test("has the magic number", () => {
    for (const other of [
      new Uint8Array(),
      new TextEncoder().encode(".version 8.0\n.target sm_80"),
    ]) {
      expect(isFatBinary(other)).toBe(false);
      expect(fatBinaryBytes(other)).toBe(0);
      expect(ptxOf(other)).toEqual([]);
    }
  });

  test("that claims a huge text is not unpacked", () => {
    const packed = container({ architecture: 90, text: "0123456" });
    const view = new DataView(packed.buffer);
    view.setUint32(16 + 40, 0x8000, true);
    view.setBigUint64(16 + 56, BigInt(LONGEST_TEXT + 1), true);
    expect(unpack(packed)).toEqual([{ architecture: 90, text: undefined }]);
  });

  test("that is damaged does not make reading fail", () => {
    fc.assert(
      fc.property(fc.nat(image.length - 1), fc.nat(255), (at, value) => {
        const damaged = image.slice();
        damaged[at] = value;
        expect(Array.isArray(unpack(damaged))).toBe(true);
      }),
    );
  });

  for (const mode of ["none", "speed", "balance", "size"])
    test.skipIf(!compiler)(`from nvcc, compressed for ${mode}, gives what nvcc -ptx does`, () => {
      writeFileSync(join(directory, "k.cu"), source);
      const run = (...options: string[]) =>
        execFileSync(compiler ?? "", [...options, "k.cu"], { cwd: directory, stdio: "pipe" });
      run(
        "-fatbin",
        "-gencode=arch=compute_80,code=[sm_80,compute_80]",
        `--compress-mode=${mode}`,
        "-o",
        "k.fatbin",
      );
      run("-ptx", "-arch=compute_80", "-o", "k.ptx");
      const [found, ...more] = unpack(readFileSync(join(directory, "k.fatbin")));
      expect(more).toEqual([]);
      expect(found?.architecture).toBe(80);
      expect(bare(found?.text)).toBe(bare(readFileSync(join(directory, "k.ptx"), "utf8")));
    });
});

/** The text without comments and layout, because nvcc changes those in a fat binary. */
const bare = (text = ""): string => text.replace(/\/\/.*/g, "").replace(/\s+/g, "");

describe("an LZ4 block", () => {
  const bytes = (...values: number[]) => Uint8Array.from(values);

  test.each([
    { what: "literals alone", block: bytes(0x30, 1, 2, 3), gives: [1, 2, 3] },
    {
      what: "a match that repeats itself",
      block: bytes(0x12, 7, 1, 0, 0),
      gives: [7, 7, 7, 7, 7, 7, 7],
    },
    {
      what: "a long run of literals",
      block: bytes(0xf0, 2, ...Array(17).fill(9)),
      gives: Array(17).fill(9),
    },
  ])("of $what", ({ block, gives }) => {
    expect([...lz4Block(block, gives.length)]).toEqual(gives);
  });

  test.each([
    { what: "a match before the beginning", block: bytes(0x10, 7, 2, 0), size: 5 },
    { what: "no end", block: bytes(0x30, 1), size: 3 },
    { what: "less than it says", block: bytes(0x10, 7), size: 3 },
    { what: "more than it says", block: bytes(0x30, 1, 2, 3), size: 2 },
  ])("with $what is refused", ({ block, size }) => {
    expect(() => lz4Block(block, size)).toThrow(RangeError);
  });
});
