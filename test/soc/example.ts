// Made-up problems for tests and for measuring the solver: times and demands in the range of the layer groups
// of GoogleNet on a Xavier (HaX-CoNN, Table 2).

import { minimalStandard } from "#core";
import type { Group, Problem } from "#soc";
import { shareOfLimit } from "#soc";

export interface Shape {
  readonly networks: number;
  readonly groups: number;
  readonly maxTransitions: number;
  readonly seed: number;
  readonly objective?: Problem["objective"];
  /** Limit of the memory, in the unit of demands, which are 20 to 80. */
  readonly limit?: number;
  /** 2, or 3: a second slower one, with times of its own. */
  readonly accelerators?: 2 | 3;
}

export function exampleProblem(shape: Shape): Problem {
  const chance = minimalStandard(shape.seed * 7_919);
  for (let i = 0; i < 8; i++) chance();
  const from = (low: number, high: number) => low + (high - low) * chance();
  const group = (i: number): Group => {
    const timeMs = from(0.1, 0.6);
    const ratio = from(1.4, 2.1);
    const demand = from(40, 80);
    return {
      name: `${i}`,
      timeMs: [timeMs, timeMs * ratio],
      demand: [demand, demand / ratio],
      outMs: [from(0.01, 0.07), from(0.03, 0.13)],
      inMs: [0, 0],
      energyMj: [from(8, 12) * timeMs, from(3, 5) * timeMs],
      inputs: i === 0 ? [] : [i - 1],
    };
  };
  const slowdown = shareOfLimit(shape.limit ?? 100);
  const networks = Array.from({ length: shape.networks }, (_, n) => ({
    name: `net-${n}`,
    after: [],
    groups: Array.from({ length: shape.groups }, (_, i) => group(i)),
  }));
  const onThird = ({ timeMs, demand, outMs, inMs, energyMj, ...rest }: Group): Group => {
    const ratio = from(1.2, 2.4);
    return {
      ...rest,
      timeMs: [...timeMs, (timeMs[0] ?? 0) * ratio],
      demand: [...demand, (demand[0] ?? 0) / ratio],
      outMs: [...outMs, from(0.03, 0.13)],
      inMs: [...inMs, 0],
      energyMj: [...energyMj, from(3, 5) * (timeMs[0] ?? 0)],
    };
  };
  const third = shape.accelerators === 3;
  return {
    accelerators: [
      { name: "gpu", slowdown },
      { name: "dla", slowdown },
      ...(third ? [{ name: "npu", slowdown }] : []),
    ],
    networks: third
      ? networks.map((one) => ({ ...one, groups: one.groups.map(onThird) }))
      : networks,
    objective: shape.objective ?? "latency",
    maxTransitions: shape.maxTransitions,
    overlapMs: 0,
    energyBudgetMj: Infinity,
  };
}
