import { describe, expect, test } from "vitest";
import { h200, quiet, workload } from "../../../test/gpu/example.ts";
import { planOf } from "../jobs/planning.ts";
import { Machine } from "./machine.ts";
import { END } from "./stream.ts";

const gpu = {
  ...h200(),
  launchNs: 0,
  link: { bytesPerSecond: 1e9, latencyNs: 1000, bothWays: 0.5 },
};
const MB = 1e6;

/** When each copy is over, in us. A megabyte takes a millisecond. */
function copies(...each: { to: "in" | "out"; bytes: number; piece?: number }[]): number[] {
  const machine = new Machine(gpu, { exclusive: false, seed: 1, spread: false });
  const at: number[] = [];
  each.forEach(({ to, bytes, piece }, i) => {
    const profile = workload("copies", [], { sequence: [{ copy: to, bytes }] });
    const onEnd = () => {
      at[i] = Math.round(machine.now / 1000);
    };
    const owner = { ...quiet, onEnd };
    const stream = machine.addStream(
      machine.contexts.add(),
      planOf(profile, gpu, "kernels"),
      owner,
      {
        priority: 0,
      },
    );
    if (piece !== undefined) stream.pieceBytes = piece;
    for (let left = bytes; left > 0; left -= stream.pieceBytes) stream.push(0, 0);
    stream.push(END, 0);
    machine.kick(stream);
  });
  machine.run(1e9);
  return at;
}

describe("the link", () => {
  test("takes latency and bytes", () => {
    expect(copies({ to: "in", bytes: MB })).toEqual([1001]);
  });
  test("serves one way in order", () => {
    expect(copies({ to: "in", bytes: MB }, { to: "in", bytes: MB })).toEqual([1001, 2002]);
  });
  test("is slower while both ways are busy", () => {
    expect(copies({ to: "in", bytes: MB }, { to: "out", bytes: 2 * MB })).toEqual([2002, 3002]);
  });
  test("lets others in between the pieces of a long copy", () => {
    const [long, short] = copies(
      { to: "in", bytes: 10 * MB, piece: MB },
      { to: "in", bytes: 1000 },
    );
    expect(short).toBe(1003);
    expect(long).toBe(10_012);
  });
});
