// From an operation to its meaning: which family knows it.
import { atomics } from "./atomics.ts";
import { barriers } from "./barriers.ts";
import { bitwise } from "./bitwise.ts";
import { comparisons } from "./compare.ts";
import { control } from "./control.ts";
import { conversions } from "./convert.ts";
import { copies } from "./copies.ts";
import { computesFloats, floats } from "./floats.ts";
import { integers } from "./integers.ts";
import { lanesTogether } from "./lanes.ts";
import { matrices } from "./matrices.ts";
import { mbarriers } from "./mbarriers.ts";
import { moves } from "./moves.ts";
import type { Compile, Meaning, Site } from "./site.ts";
import { tensorMaps } from "./tensor-maps.ts";
import { textures } from "./textures.ts";
import { warpGroups } from "./warp-groups.ts";

const families: Readonly<Record<string, Compile>> = {
  ...moves,
  ...bitwise,
  ...comparisons,
  ...conversions,
  ...atomics,
  ...lanesTogether,
  ...barriers,
  ...mbarriers,
  ...copies,
  ...tensorMaps,
  ...matrices,
  ...warpGroups,
  ...textures,
  ...control,
};

export function meaningOf(site: Site): Meaning {
  const { opcode } = site.instruction.operation;
  const arithmetic = computesFloats(site) ? floats : integers;
  const compile = families[opcode] ?? arithmetic[opcode];
  return compile === undefined ? site.fail("this instruction") : compile(site);
}
