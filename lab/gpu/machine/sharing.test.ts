// Two processes under MPS that launch without pause, and what each retains of its throughput alone.
// The same was measured on an H200 (bench/results/2026-11-22-h200-beside.json). The model's
// mechanisms were made for these pairs, but no figure was fitted to them.
import { describe, expect, test } from "vitest";
import type { KernelProfile } from "#profile";
import { h200, quiet, workload } from "../../../test/gpu/example.ts";
import { planOf } from "../jobs/planning.ts";
import type { Plan } from "../model/plan.ts";
import { Machine } from "./machine.ts";

type Shape = readonly [blocks: number, threads: number, sharedKiB: number];
const whole = (blocks: number): Shape => [blocks, 1024, 200];
const quarters = (blocks: number): Shape => [blocks, 256, 55];
const small = (blocks: number): Shape => [blocks, 128, 0];

/** Multiply-adds only: they use all issue slots of an SM that they can get. */
function burn([blocks, threads, sharedKiB]: Shape, us: number): Plan {
  const perSm = Math.min(2048 / threads, sharedKiB > 0 ? Math.floor(228 / (sharedKiB + 1)) : 32);
  const kernel: KernelProfile = {
    name: "burn",
    grid: [blocks, 1, 1],
    block: [threads, 1, 1],
    registers: 16,
    dynamicSharedBytes: sharedKiB * 1024,
    durationNs: { p50: us * 1000, p95: us * 1000 },
    smsNeeded: Math.ceil(blocks / perSm),
    sm: 1,
    memory: 0,
    class: "compute",
  };
  const base = workload("burn", [{ us }]);
  return planOf(
    { ...base, kernels: [kernel], sequence: [{ kernel: 0, gapNs: 0 }] },
    h200(),
    "kernels",
  );
}

const SECONDS = 0.05;

function kept(plans: readonly Plan[], priority: number): number[] {
  const machine = new Machine(h200(), {
    exclusive: false,
    pauseNs: h200().mpsNs,
    seed: 1,
    spread: false,
  });
  const streams = plans.map((plan, i) => {
    const options = { priority: i === 0 ? priority : 0 };
    const stream = machine.addStream(machine.contexts.add(), plan, quiet, options);
    for (let n = 0; n < 9000; n++) stream.push(0, 0);
    return stream;
  });
  for (const stream of streams) machine.kick(stream);
  machine.run(SECONDS * 1e9);
  return streams.map(({ finished, plan }) => (finished * plan.soloNs) / (SECONDS * 1e9));
}

describe("two processes that launch without pause retain as much as measured, within a tenth", () => {
  test.each([
    {
      what: "one kernel of the second runs between two of the first",
      first: whole(132),
      us: 108,
      second: small(2112),
      secondUs: 19.6,
      high: false,
      keep: [0.883, 0.16],
    },
    {
      what: "priority changes nothing about that",
      first: whole(132),
      us: 114.4,
      second: whole(132),
      secondUs: 21.5,
      high: true,
      keep: [0.861, 0.162],
    },
    {
      what: "blocks beside older ones that issue all the time get nowhere",
      first: whole(132),
      us: 108,
      second: small(264),
      secondUs: 6.1,
      high: false,
      keep: [0.987, 0.056],
    },
    {
      what: "a kernel of many short blocks keeps the first waiting",
      first: whole(132),
      us: 108,
      second: small(16896),
      secondUs: 139.5,
      high: false,
      keep: [0.447, 0.577],
    },
    {
      what: "unless that has priority",
      first: whole(132),
      us: 114.4,
      second: small(16896),
      secondUs: 139.5,
      high: true,
      keep: [0.89, 0.136],
    },
    {
      what: "whole SMs find room in the last wave",
      first: whole(192),
      us: 195.5,
      second: whole(132),
      secondUs: 19,
      high: true,
      keep: [0.981, 0.286],
    },
    {
      what: "none is left where the last wave is on every SM",
      first: quarters(768),
      us: 217.2,
      second: whole(132),
      secondUs: 25.6,
      high: false,
      keep: [0.92, 0.108],
    },
    {
      what: "nor for small ones beside it",
      first: quarters(768),
      us: 151.3,
      second: small(2112),
      secondUs: 19.5,
      high: true,
      keep: [0.976, 0.126],
    },
  ])("$what", ({ first, us, second, secondUs, high, keep }) => {
    const modelled = kept([burn(first, us), burn(second, secondUs)], high ? 1 : 0);
    keep.forEach((measured, i) => {
      expect(Math.abs((modelled[i] ?? 0) - measured)).toBeLessThan(0.1);
    });
  });
});
