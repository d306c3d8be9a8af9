import { execFileSync } from "node:child_process";
import {
  closeSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { VariantRequest, view } from "#protocol";
import { makeVariants } from "./make-variants.ts";
import { noVariantStore } from "./store.ts";

const directory = mkdtempSync(join(tmpdir(), "cotenant-variants-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const kernels = `.version 8.0
.target sm_80
.address_size 64
.global .u32 counter;
.visible .entry plain (.param .u64 out) { ret; }
.visible .entry clocked (.param .u64 out)
{
  .reg .b32 %r1;
  mov.u32 %r1, %clock;
  ret;
}
.visible .entry counting ()
{
  .reg .b32 %r1;
  atom.global.add.u32 %r1, [counter], 1;
  ret;
}
.visible .entry numbered (.param .u64 out)
{
  .reg .b64 %rd1;
  mov.u64 %rd1, %gridid;
  ret;
}
`;

function request(kernel: string, image: Uint8Array, extra = 0): string {
  const name = new TextEncoder().encode(kernel);
  const bytes = new Uint8Array(VariantRequest.size + name.length + image.length);
  const head = view(VariantRequest, bytes.buffer);
  head.nameBytes = name.length + extra;
  head.imageBytes = image.length;
  bytes.set(name, VariantRequest.size);
  bytes.set(image, VariantRequest.size + name.length);
  const path = join(directory, `${Math.random()}`);
  writeFileSync(path, bytes);
  return path;
}

/** The PTX that was made, and whether it is right for whole warps only. */
function madeOf(path: string) {
  const made = makeVariants(path, noVariantStore);
  if ("reason" in made) throw new Error(made.reason);
  const ptx = readFileSync(`/proc/self/fd/${made.fd}`, "utf8");
  closeSync(made.fd);
  return { ptx, wholeWarps: made.wholeWarps };
}

const refusalOf = (path: string) => expect(makeVariants(path, noVariantStore));

const text = (source: string) => new TextEncoder().encode(`${source}\0`);

test.each([
  ["plain", ["plain", "plain__cotenant_preempt", "plain__cotenant_slice"]],
  ["clocked", ["clocked", "clocked__cotenant_slice"]],
])("the variants of %s that can stop inside are in a module of their own", (kernel, entries) => {
  const { ptx } = madeOf(request(kernel, text(kernels)));
  const found = [...ptx.matchAll(/\.entry (\w+)/g)].map(([, name]) => name);
  expect(found.sort()).toEqual(entries);
});

/** Its preemptible variant is right only where blocks are made of whole warps. */
const warps = `.visible .entry warps (.param .u64 out)
{
  .reg .pred %p1;
  .reg .b32 %r<3>;
  mov.u32 %r1, %tid.x;
  setp.gt.u32 %p1, %r1, 63;
  @%p1 ret;
  shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
  bar.sync 0;
  ret;
}
`;

test("that a variant is right for whole warps only is said of its kernel, and of all together if it is so for one", () => {
  const both = text(`${kernels}${warps}`);
  expect(madeOf(request("warps", both)).wholeWarps).toBe(true);
  expect(madeOf(request("plain", both)).wholeWarps).toBe(false);
  const all = (source: string) => madeOf(request("", new TextEncoder().encode(source))).wholeWarps;
  expect(all(`${kernels}${warps}`)).toBe(true);
  expect(all(kernels)).toBe(false);
});

test("PTX ends at its first zero, or with its file", () => {
  const { ptx } = madeOf(request("plain", text(kernels)));
  const after = new TextEncoder().encode(`${kernels}\0nonsense {`);
  expect(madeOf(request("plain", after)).ptx).toBe(ptx);
  expect(madeOf(request("plain", new TextEncoder().encode(kernels.trim()))).ptx).toBe(ptx);
});

test("a request as long as allowed is met", () => {
  const path = request("plain", text(kernels));
  const longest = 8 * 2 ** 20 + 4096;
  const image = new Uint8Array(longest - VariantRequest.size - "plain".length);
  image.set(text(kernels));
  expect(madeOf(request("plain", image)).ptx).toBe(madeOf(path).ptx);
});

test("no file stays open, whether its request was met or not", () => {
  const [good, bad] = [request("plain", text(kernels)), request("plain", text(kernels), 1)];
  madeOf(good);
  makeVariants(bad, noVariantStore);
  const open = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ""; // closed since
    }
  });
  expect(open).not.toContain(good);
  expect(open).not.toContain(bad);
});

test("without a name all kernels get their variant, in the module that they are in", () => {
  const { ptx } = madeOf(request("", new TextEncoder().encode(kernels)));
  expect(ptx.match(/\.entry (\w+)/g)?.sort()).toEqual([
    ".entry clocked",
    ".entry clocked__cotenant_slice",
    ".entry counting",
    ".entry counting__cotenant_preempt",
    ".entry counting__cotenant_slice",
    ".entry numbered",
    ".entry plain",
    ".entry plain__cotenant_preempt",
    ".entry plain__cotenant_slice",
  ]);
});

test.each([
  {
    what: "reads the grid's number",
    kernel: "numbered",
    image: text(kernels),
    says: /^Line 21: .*gridid/,
  },
  {
    what: "uses the module's memory",
    kernel: "counting",
    image: text(kernels),
    says: /it uses counter/,
  },
  { what: "is not there", kernel: "missing", image: text(kernels), says: /no kernel missing/ },
  { what: "is not PTX", kernel: "plain", image: text("nonsense {"), says: /./ },
  { what: "is nothing", kernel: "plain", image: new Uint8Array(), says: /./ },
])("a kernel that $what is refused with the reason", ({ kernel, image, says }) => {
  refusalOf(request(kernel, image)).toEqual({ reason: expect.stringMatching(says) });
});

test("a module without a kernel that can stop inside is refused, and one that is not UTF-8 is not changed", () => {
  const [head] = kernels.split(".visible");
  const numbered = `.visible${kernels.split(".visible").at(-1)}`;
  refusalOf(request("", new TextEncoder().encode(`${head}${numbered}`))).toEqual({
    reason: "No kernel of the PTX can stop inside.",
  });
  const latin1 = Buffer.from(`// gr\u00f6\u00dfe\n${kernels}`, "latin1");
  refusalOf(request("", latin1)).toEqual({
    reason: expect.stringMatching(/^The request can't be met: .*utf-8/i),
  });
});

test("a reason is a sentence with one full stop at its end", () => {
  refusalOf(request("missing", text(kernels))).toEqual({
    reason: "the module has no kernel missing.",
  });
  refusalOf(request("plain", text(".version 8.0\nnonsense.x {"))).toEqual({
    reason: 'Line 2, column 1: no directive begins so, at "nonsense.x {".',
  });
});

test("a fat binary without PTX is refused, and so is a request without anything", () => {
  refusalOf(request("k", bomb(0, 1))).toEqual({ reason: "The fat binary has no PTX." });
  refusalOf(request("", new Uint8Array())).toEqual({
    reason: "No kernel of the PTX can stop inside.",
  });
});

test("a file that holds less than it says is refused", () => {
  refusalOf("/sys/devices/system/cpu/online").toEqual({
    reason: "The request can't be met: it became shorter.",
  });
});

test("a request that cannot be read is refused with the reason", () => {
  const short = join(directory, "short");
  writeFileSync(short, "x");
  const long = join(directory, "long");
  writeFileSync(long, "");
  truncateSync(long, 2 ** 40);
  const pipe = join(directory, "pipe");
  execFileSync("mkfifo", [pipe]); // nobody will ever write to it
  for (const [path, says] of [
    [short, /only 1 bytes/],
    [long, /has 1099511627776 bytes, more than the 8392704/],
    [pipe, /is no file/],
    [directory, /is no file/],
    ["/dev/zero", /is no file/],
    [join(directory, "nowhere"), /no such file/],
    [request("plain", text(kernels), 1), /do not add up/],
  ] as const)
    refusalOf(path).toEqual({ reason: expect.stringMatching(says) });
});

/** A fat binary whose entries are the letter "a", so many times, in a few bytes each: zstd's frames of one byte repeated. */
function bomb(entries: number, letters: number): Uint8Array {
  const most = 2 ** 17;
  const count = Math.ceil(letters / most);
  const blocks = Array.from({ length: count }, (_, i) => {
    const size = Math.min(most, letters - i * most);
    const head = (size << 3) | (1 << 1) | (i === count - 1 ? 1 : 0);
    return [head & 255, (head >> 8) & 255, head >> 16, 97];
  });
  const size = [0, 8, 16, 24].map((shift) => (letters >>> shift) & 255);
  const frame = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, ...size, ...blocks.flat()]);
  const entry = new Uint8Array(64 + Math.ceil(frame.length / 8) * 8);
  const head = new DataView(entry.buffer);
  head.setUint16(0, 1, true);
  head.setUint32(4, 64, true);
  head.setBigUint64(8, BigInt(entry.length - 64), true);
  head.setUint32(16, frame.length, true);
  head.setUint32(28, 90, true);
  head.setUint32(40, 0x8000, true);
  head.setBigUint64(56, BigInt(letters), true);
  entry.set(frame, 64);
  const image = new Uint8Array(16 + entries * entry.length);
  const whole = new DataView(image.buffer);
  whole.setUint32(0, 0xba55ed50, true);
  whole.setUint16(4, 1, true);
  whole.setUint16(6, 16, true);
  whole.setBigUint64(8, BigInt(entries * entry.length), true);
  for (let i = 0; i < entries; i++) image.set(entry, 16 + i * entry.length);
  return image;
}

test("of a fat binary only the newest PTX is unpacked", () => {
  refusalOf(request("k", bomb(800, 2 ** 25))).toEqual({
    reason: expect.stringMatching(/^Line 1, column 1: /),
  });
});

test("a fat binary whose PTX is longer than the limit is refused, with the limit", () => {
  refusalOf(request("k", bomb(1, 2 ** 27))).toEqual({
    reason: expect.stringMatching("larger than 64 MiB."),
  });
});

test("a request that is longer than allowed is refused without being read", () => {
  const path = request("plain", text(kernels));
  truncateSync(path, 8 * 2 ** 20 + 4096 + 1);
  refusalOf(path).toEqual({
    reason: "The request can't be met: it has 8392705 bytes, more than the 8392704 that may be.",
  });
});
