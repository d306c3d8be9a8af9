// Asynchronous copies come late where a seed says so: what does not wait for them is found out. And what a copy
// engine, an mbarrier or a warp group would not take ends the launch.
import { describe, expect, test } from "vitest";
import { UserError } from "#core";
import { DeviceMemory, encodeTensorMap, launch, type TensorMap } from "#emulator";
import { parse, printPlain } from "#ptx";
import { compare, withVariants } from "./differential.ts";

const SEEDS = [0, 1, 2, 3, 4, 5, 6, 7];
const WORDS = 64;

/** A kernel of 64 threads; each begins with the address of its own word in %from, and one in shared memory in %at. */
const kernelOf = (body: string) => `.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128]) {
.shared .align 1024 .b8 line[1024];
.shared .align 8 .b64 bar;
.reg .b32 %t, %at, %word, %other; .reg .b64 %in, %out, %from, %to, %map; .reg .pred %first, %done;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
mov.b64 %map, map; cvta.param.u64 %map, %map;
mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0;
mul.wide.u32 %from, %t, 4; add.u64 %to, %out, %from; add.u64 %from, %in, %from;
mov.u32 %at, line; mad.lo.u32 %at, %t, 4, %at;
${body}
ret;
}
`;

const values = Int32Array.from({ length: WORDS }, (_, i) => 7 * i + 3);

interface Shape {
  readonly seed?: number;
  readonly map?: Partial<TensorMap>;
  readonly threads?: number;
}

function run(body: string, { seed = 0, map = {}, threads = WORDS }: Shape = {}): Int32Array {
  const memory = new DeviceMemory();
  const [from, to] = [memory.upload(values), memory.allocate(4 * WORDS)];
  const whole = { element: "s32", sizes: [16, 4], strides: [64], box: [16, 4] } as const;
  launch(parse(kernelOf(body)), "k", {
    grid: [1, 1, 1],
    block: [threads, 1, 1],
    args: [from, to, encodeTensorMap({ address: from, ...whole, ...map })],
    memory,
    seed,
  });
  return new Int32Array(memory.read(to, 4 * WORDS).buffer);
}

const reversed = Int32Array.from(values).reverse();
/** Each thread takes what another one has copied. */
const take = `bar.sync 0;
sub.u32 %other, 63, %t; mov.u32 %at, line; mad.lo.u32 %at, %other, 4, %at;
ld.shared.u32 %word, [%at]; st.global.u32 [%to], %word;`;
const small = "cp.async.ca.shared.global [%at], [%from], 4;";
const init = `@%first mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;
@!%first bra Started;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;`;
const bulk = `${init}
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [line], [%in], 256, [bar];
Started:`;
const box = `${init}
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [line], [%map, {0, 0}], [bar];
Started:`;
const wait = `Wait: mbarrier.try_wait.parity.shared::cta.b64 %done, [bar], 0; @!%done bra Wait;`;

test.each([
  ["small copies in a group", small, "cp.async.commit_group; cp.async.wait_group 0;"],
  ["small copies, all", small, "cp.async.wait_all;"],
  ["a bulk copy", bulk, wait],
  ["a box of a tensor", box, wait],
])("%s: waited for they are there, else not always", (_what, copy, waits) => {
  for (const seed of SEEDS) expect(run(`${copy}\n${waits}\n${take}`, { seed })).toEqual(reversed);
  // A late copy comes before the block ends.
  const ends = waits === wait ? `bar.sync 0;\n${wait}` : "";
  const unwaited = SEEDS.map((seed) => run(`${copy}\n${take}\n${ends}`, { seed }));
  expect(unwaited.some((found) => found.some((word, i) => word !== reversed[i]))).toBe(true);
});

test("only the last groups may still be under way", () => {
  const two = `${small} cp.async.commit_group;
add.u32 %at, %at, 256; cp.async.ca.shared.global [%at], [%in], 4; cp.async.commit_group;
cp.async.wait_group 1;`;
  for (const seed of SEEDS) expect(run(`${two}\n${take}`, { seed })).toEqual(reversed);
});

describe("a variant that does not wait for its block's copies is found out", () => {
  // The engine reads the line while the block ends; the next block writes another one there.
  const body = `mov.u32 %other, %ctaid.x; mad.lo.u32 %word, %other, 1000, %t;
st.shared.u32 [%at], %word;
fence.proxy.async.shared::cta;
bar.sync 0;
@!%first bra Done;
mul.wide.u32 %from, %other, 256; add.u64 %to, %out, %from;
cp.async.bulk.global.shared::cta.bulk_group [%to], [line], 256;
cp.async.bulk.commit_group;
Done:`;
  const blocks = 5;
  const text = printPlain(withVariants(parse(kernelOf(body))));
  const differences = (module: string) =>
    compare(
      {
        module: parse(module),
        kernel: "k",
        grid: [blocks, 1, 1],
        block: [WORDS, 1, 1],
        fresh() {
          const memory = new DeviceMemory();
          const out = memory.allocate(4 * WORDS * blocks);
          return {
            memory,
            args: [0, out, new Uint8Array(128)],
            contents: () => [memory.read(out, 4 * WORDS * blocks)],
          };
        },
      },
      { workers: [1], seeds: [1, 2], widths: [1], everyStop: false, stoppedBy: ["counter"] },
    ).differences;

  test("whole", () => expect(differences(text)).toEqual([]));
  test("without its wait", () => {
    expect(text).toContain("cp.async.bulk.wait_group");
    const broken = text.replaceAll(/^.*cp\.async\.bulk\.wait_group.*$/gm, "");
    expect(differences(broken).length).toBeGreaterThan(0);
  });
});

test("an mbarrier may be made anew as long as nothing has been done with it", () => {
  const again = "@%first mbarrier.init.shared::cta.b64 [bar], 1;";
  expect(run(`${again}\n${again}\n${bulk}\n${wait}\n${take}`)).toEqual(reversed);
});

describe("what can't be ends the launch", () => {
  const descriptor = (high: number, low: number) =>
    `.reg .b64 %d; .reg .b32 %s<4>; mov.b64 %d, {${low}, ${high}};
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%s0, %s1, %s2, %s3}, %d, %d, 0, 1, 1, 0, 0;`;
  test.each<[string, string, Shape, string, string]>([
    [
      "a used mbarrier made anew",
      `${bulk}\n${wait}\nbar.sync 0;\n@%first mbarrier.init.shared::cta.b64 [bar], 1;`,
      {},
      "PTX_BAD_BARRIER",
      "is live: it must be made invalid first",
    ],
    [
      "an mbarrier that is not there",
      "mbarrier.arrive.shared::cta.b64 _, [bar];",
      {},
      "PTX_BAD_BARRIER",
      "no mbarrier is live at",
    ],
    [
      "a block that leaves a copy under way",
      bulk,
      { seed: 1 },
      "PTX_BAD_BARRIER",
      "the block ends while this copy is under way",
    ],
    [
      "a copy of 8 bytes",
      bulk.replace("[%in], 256", "[%in], 8"),
      {},
      "PTX_MISALIGNED",
      "a copy of 8 bytes is no multiple of 16",
    ],
    [
      "a bulk copy behind its buffer",
      bulk.replace("[%in], 256", "[%in], 512"),
      {},
      "PTX_OUT_OF_BOUNDS",
      "a copy of 512 bytes is out of bounds",
    ],
    [
      "a box off its grid",
      box.replace("[line]", "[line+64]"),
      {},
      "PTX_MISALIGNED",
      "a box of 128 bytes at 0x40 in shared memory is not aligned to 128",
    ],
    [
      "a box that begins within 16 bytes of a row",
      box.replace("{0, 0}", "{-2, 0}"),
      {},
      "PTX_MISALIGNED",
      "its box begins -8 bytes into rows, not at 16",
    ],
    [
      "a box stored before its tensor",
      "@%first cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {0, -1}], [line];",
      {},
      "PTX_OUT_OF_BOUNDS",
      "a box for 0, -1 begins before its tensor",
    ],
    [
      "a map of a tensor that is not there",
      box,
      { map: { address: 16 } },
      "PTX_OUT_OF_BOUNDS",
      "a row of a box of 64 bytes at 0x10 is out of bounds",
    ],
    [
      "a map of other dimensions",
      box,
      { map: { sizes: [64], strides: [], box: [64] } },
      "PTX_BAD_TENSOR",
      "its map has 1 dimensions",
    ],
    [
      "a stride that is no multiple of 16",
      box,
      { map: { strides: [68] } },
      "PTX_BAD_TENSOR",
      "its tensor map has strides of 68 bytes, not all multiples of 16",
    ],
    [
      "rows that are not as long as the swizzle",
      box,
      { map: { swizzle: 128 } },
      "PTX_BAD_TENSOR",
      "its tensor map has rows of 64 bytes with a swizzle of 128: not emulated",
    ],
    [
      "an empty map",
      box,
      { map: { address: 0, sizes: [0, 0], box: [0, 0] } },
      "PTX_BAD_TENSOR",
      "its tensor map has a box of 0 x 0; sides are 1 to 256",
    ],
    [
      "a product of half a warp group",
      descriptor(8, 8 << 16),
      {},
      "PTX_BAD_MASK",
      "the warp is in no whole group of four",
    ],
    [
      "a matrix behind shared memory",
      descriptor(8, 0x3fff),
      { threads: 128 },
      "PTX_OUT_OF_BOUNDS",
      "a matrix element of 2 bytes at 0x3fff0 in shared memory is out of bounds",
    ],
    [
      "a matrix with a base offset",
      descriptor(1 << 17, 0),
      { threads: 128 },
      "PTX_NOT_EMULATED",
      "a matrix descriptor with a base offset",
    ],
  ])("%s", (_what, body, shape, code, message) => {
    let failed: unknown;
    try {
      run(body, shape);
    } catch (error) {
      failed = error;
    }
    expect(failed).toBeInstanceOf(UserError);
    expect((failed as UserError).message).toContain(message);
    expect((failed as UserError).code).toBe(code);
  });
});
