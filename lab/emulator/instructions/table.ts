// Finds the family of instructions that compiles an operation.

import { bitwise } from "./arithmetic/bitwise.ts";
import { comparisons } from "./arithmetic/compare.ts";
import { conversions } from "./arithmetic/convert.ts";
import { computesFloats, floats } from "./arithmetic/floats.ts";
import { integers } from "./arithmetic/integers.ts";
import { matrices } from "./matrices/matrices.ts";
import { warpGroups } from "./matrices/warp-groups.ts";
import { atomics } from "./memory/atomics.ts";
import { copies } from "./memory/copies.ts";
import { mbarriers } from "./memory/mbarriers.ts";
import { moves } from "./memory/moves.ts";
import { tensorMaps } from "./memory/tensor-maps.ts";
import { textures } from "./memory/textures.ts";
import type { Compile, Meaning, Site } from "./site.ts";
import { barriers } from "./warps/barriers.ts";
import { collectives } from "./warps/collectives.ts";
import { control } from "./warps/control.ts";

const families: Readonly<Record<string, Compile>> = {
  ...moves,
  ...bitwise,
  ...comparisons,
  ...conversions,
  ...atomics,
  ...collectives,
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
