// Random kernels with rings of copies: what the legality check lets pass is right in its preemptible variant, whenever
// copies come.
import { expect, test } from "vitest";
import { DeviceMemory, launch } from "#emulator";
import { parse, preempt, print, slice } from "#ptx";
import { assemble, hasPtxas } from "../../ptxas.ts";
import { type Pipeline, pipelineSource, THREADS, WORDS } from "./pipeline-programs.ts";
import { judge, judgeAll } from "./pipelines.ts";

const PROGRAMS = 40;

test("rings of copies are ended with their block", () => {
  const { legal, refused } = judgeAll(PROGRAMS, 1);
  // The test is worth something only if there are many of both.
  expect(legal).toBeGreaterThan(PROGRAMS / 8);
  expect(refused).toBeGreaterThan(PROGRAMS / 8);
});

const usual: Pipeline = {
  stages: 2,
  tiles: 3,
  ahead: 2,
  maker: "some blocks",
  places: "constant",
  arrivals: "rank",
  ends: "nobody",
  copy: "bulk",
  gaps: false,
  registers: true,
  odd: "nothing",
};

test("a block that leaves copies under way is right, and not without each part of its end", () => {
  const source = pipelineSource(usual);
  expect(judge(source)).toEqual({ is: "legal", wrong: "" });
  for (const part of [
    /^.*mbarrier\.test_wait.*\n.*bra \$cotenant_seen_\d+;$/gm,
    /^.*mbarrier\.inval.*$/gm,
    /^.*red\.shared\.or.*$/gm,
    /^.*st\.shared\.v2\.b64.*cotenant_counter.*$/gm,
  ]) {
    const change = (text: string) => {
      expect(text).toMatch(part);
      // Without its wait, a phase counts as ended: only the branch stays.
      return text.replaceAll(part, (found) => found.match(/bra \$cotenant_seen_\d+;/)?.[0] ?? "");
    };
    expect(judge(source, change).wrong).not.toBe("");
  }
});

test.each(["expected late", "by turns"] as const)(
  "a block is right whose copies are announced without an arrival (%s), and not if it does not note their phase",
  (copy) => {
    const source = pipelineSource({ ...usual, copy });
    expect(judge(source)).toEqual({ is: "legal", wrong: "" });
    const without = (text: string) => {
      expect(text).toMatch(/^.*selp\.b64 %cotenant_counter, 1, 0.*$/m);
      return text
        .replaceAll(/^.*mov\.b64 %cotenant_other, 2;$/gm, "mov.b64 %cotenant_other, 0;")
        .replaceAll(
          /^.*mbarrier\.test_wait\.parity\.shared\.b64 .*$/gm,
          "setp.eq.u32 %cotenant_is, 0, 0;",
        );
    };
    expect(judge(source, without).wrong).not.toBe("");
  },
);

test.each(["bulk", "expected late", "by turns"] as const)(
  "a phase without copies is not taken for an earlier one with copies (%s)",
  (copy) => {
    const source = pipelineSource({ ...usual, copy, gaps: true, stages: 1, tiles: 4, ahead: 0 });
    expect(judge(source)).toEqual({ is: "legal", wrong: "" });
    const without = (text: string) => {
      expect(text).toMatch(/^.*atom\.shared\.cas\.b64.*$/m);
      return text.replaceAll(/^.*atom\.shared\.cas\.b64.*$/gm, "");
    };
    // It looks for 20 ms, which are too many instructions.
    expect(judge(source, without).wrong).toContain("still runs");
  },
);

test.skipIf(!hasPtxas()).each(["bulk", "expected late", "by turns"] as const)(
  "ptxas takes its variants (%s)",
  (copy) => {
    const source = pipelineSource({ ...usual, copy, gaps: true });
    const { said, cubin } = assemble(print(slice(preempt(parse(source)))));
    expect(cubin, said).toBeDefined();
  },
);

test("a phase that never ends holds a block up, but not for ever", () => {
  // The tile that nobody uses is announced as twice as large as it is.
  const announced = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 256;";
  const source = pipelineSource({ ...usual, stages: 1, tiles: 1, ahead: 1, maker: "thread 0" });
  expect(source).toContain(announced);
  const wrong = `mov.u32 %word, 256; setp.ge.u32 %is, %k, %tiles; @%is mov.u32 %word, 512;
${announced.replace("256", "%word")}`;
  const module = preempt(parse(source.replace(announced, wrong)));
  const found = ["k", "k__cotenant_preempt"].map((kernel) => {
    const memory = new DeviceMemory();
    const input = memory.upload(Uint32Array.from({ length: 3 * WORDS }, (_, i) => 7 * i + 3));
    const out = memory.allocate(4 * WORDS);
    const ours = kernel === "k" ? [] : [memory.allocate(8), 0, 1, 1, 1, 1];
    launch(module, kernel, {
      grid: [1 + Math.sign(ours.length), 1, 1],
      block: [THREADS, 1, 1],
      args: [input, out, 0, ...ours],
      memory,
      limit: 20_000_000,
    });
    return [...new Uint32Array(memory.read(out, 4 * WORDS).buffer)];
  });
  expect(found[0]?.[1]).toBe(10);
  expect(found[1]).toEqual(found[0]);
});
