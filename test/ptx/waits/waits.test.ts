// Kernels compiled with and without -G: those that wait for blocks which have not been started have no variants, and
// the others have.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { UserError } from "#core";
import { DeviceMemory, launch } from "#emulator";
import { legality, parse } from "#ptx";

const WORDS = 64;
const BLOCKS = 4;

/** Kernels compiled without optimisation: the condition that ends the loop is put together by branches. */
const unproven: readonly string[] = [
  "debug ends_slots_taken_once",
  "debug ends_when_asked_to_stop",
  "debug ends_numbers_drawn_for_a_warp",
];

describe.each(["optimised", "debug"])("%s code", (code) => {
  const module = parse(readFileSync(new URL(`./${code}.ptx`, import.meta.url), "utf8"));
  const reports = legality(module).map((one) => [one.kernel, one] as const);

  test.each(reports)("%s", (kernel, { slice, preempt }) => {
    const isLegal = kernel.startsWith("ends_") && !unproven.includes(`${code} ${kernel}`);
    expect({ slice: slice.legal, preempt: preempt.legal }).toEqual({
      slice: isLegal,
      preempt: isLegal,
    });
    if (!isLegal)
      expect(new Set(slice.reasons.map((one) => one.code))).toEqual(new Set(["grid-wait"]));
  });

  test.each(reports)("%s ends, and one block at a time if it should", (kernel) => {
    const together = run(BLOCKS);
    expect(together).toBeInstanceOf(Uint8Array);
    const alone = run(1);
    if (kernel.startsWith("wait_")) expect(alone).toMatch(/^PTX_(TOO_LONG|STACK_OVERFLOW)$/);
    else expect(alone).toEqual(together);

    function run(resident: number): Uint8Array | string {
      const memory = new DeviceMemory();
      const zero = memory.allocate(4 * WORDS);
      const numbers = memory.upload(Int32Array.from({ length: WORDS }, (_, i) => i + 1));
      const out = memory.allocate(4 * WORDS);
      const grid = [BLOCKS, 1, 1] as const;
      const args = [zero, numbers, out, WORDS];
      try {
        launch(module, kernel, { grid, block: [32, 1, 1], args, memory, resident, limit: 120_000 });
      } catch (error) {
        return error instanceof UserError ? error.code : String(error);
      }
      return memory.read(out, 4 * WORDS);
    }
  });
});
