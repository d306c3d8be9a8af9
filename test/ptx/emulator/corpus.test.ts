// Every kernel of the corpus runs as it should, on both architectures' PTX, in any order of warps and blocks.

import { expect, test } from "vitest";
import { UserError } from "#core";
import { launch } from "#emulator";
import { kernels as kernelsIn } from "#ptx";
import { contents, prepare, unpack } from "../corpus/inputs.ts";
import { type Launch, launches } from "../corpus/launches/index.ts";
import { type Arch, launchesFor, plainModule } from "./corpus.ts";
import { references } from "./references.ts";

function run(arch: Arch, one: Launch, seed = 0) {
  const prepared = prepare(one);
  const { dynamicShared = 0 } = one;
  const { printed } = launch(plainModule(arch, one.file), one.kernel, {
    grid: one.grid,
    block: one.block,
    dynamicShared,
    args: prepared.args,
    memory: prepared.memory,
    seed,
    resident: seed === 0 ? 16 : 3,
  });
  return { prepared, printed, after: contents(prepared) };
}

const runs = launches.filter(({ ends }) => ends === undefined);

test("the table has every kernel of the corpus, once", () => {
  const files = [...new Set(launches.map(({ file }) => file))];
  const there = files.flatMap((file) =>
    kernelsIn(plainModule("sm_90", file)).map(({ name }) => `${file}/${name}`),
  );
  const listed = launches.map(({ file, kernel }) => `${file}/${kernel}`);
  // The child of dynamic parallelism has no launch of its own.
  expect(there.filter((one) => !one.startsWith("nested/_Z")).sort()).toEqual([...listed].sort());
  expect(listed.length).toBeGreaterThanOrEqual(60);
});

test.each(Object.keys(references))("%s computes what its reference does", (kernel) => {
  const one = runs.find((row) => row.kernel === kernel);
  const expected = references[kernel];
  if (one === undefined || expected === undefined) throw new Error(`${kernel} is not in the table`);
  const { prepared, after } = run(one.hopper === true ? "sm_90" : "sm_80", one);
  const held = prepared.buffers[expected.buffer];
  const bytes = after[expected.buffer];
  if (held === undefined || bytes === undefined) throw new Error(`${kernel} has no such buffer`);
  const found = unpack(held.buffer.type, bytes);
  const wanted = expected.values(
    prepared.buffers.map(({ before }) => before),
    prepared.scalars,
  );
  const allowed = expected.within * Math.max(1, ...wanted.map(Math.abs));
  expect(found).toHaveLength(wanted.length);
  found.forEach((value, i) => {
    const difference = Math.abs(value - (wanted[i] ?? Number.NaN));
    if (!(difference <= allowed)) expect.fail(`element ${i} is ${value}, not ${wanted[i]}`);
  });
});

/** Positions of buffers that are not the same. */
const different = (some: readonly Uint8Array[], others: readonly Uint8Array[]): number[] =>
  some.flatMap((bytes, i) =>
    Buffer.compare(bytes, others[i] ?? new Uint8Array(0)) === 0 ? [] : [i],
  );

/** Results of these depend on the order of blocks; those that do not are in their references. */
const orderly = runs.filter(({ kernel }) => !["grid_barrier_by_hand"].includes(kernel));

test.each(orderly.map((one) => [one.kernel, one] as const))(
  "%s leaves the same memory in any order, on both architectures",
  (_kernel, one) => {
    const wanted = run("sm_90", one).after;
    for (const seed of [1, 2]) expect(different(run("sm_90", one, seed).after, wanted)).toEqual([]);
    if (one.hopper !== true) expect(different(run("sm_80", one).after, wanted)).toEqual([]);
  },
);

test.each(
  launchesFor("sm_90")
    .filter(({ ends }) => ends !== undefined)
    .map((one) => [one.kernel, one] as const),
)("%s is refused by the emulator, too", (_kernel, one) => {
  let code: string | undefined;
  try {
    run("sm_90", one);
  } catch (error) {
    if (error instanceof UserError) code = error.code;
  }
  expect(code).toBe(one.ends);
});

test("printf prints", () => {
  const one = launches.find(({ kernel }) => kernel === "print_values");
  if (one === undefined) throw new Error("print_values is gone");
  const { printed, prepared } = run("sm_80", one);
  const values = prepared.buffers[0]?.before ?? [];
  const line = (block: number, thread: number) => {
    const value = values[thread] ?? 0;
    return `block ${block} thread ${thread}: ${value} ${(value / 2).toFixed(2).padStart(5)} done\n`;
  };
  expect([...printed].sort()).toEqual([line(0, 0), line(0, 16), line(1, 0), line(1, 16)].sort());
});
