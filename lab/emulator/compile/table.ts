// Finds the family of instructions that compiles an operation.

import { bitwise } from "../instructions/arithmetic/bitwise.ts";
import { comparisons } from "../instructions/arithmetic/compare.ts";
import { conversions } from "../instructions/arithmetic/convert.ts";
import { computesFloats, floats } from "../instructions/arithmetic/floats.ts";
import { integers } from "../instructions/arithmetic/integers.ts";
import { matrices } from "../instructions/matrices/matrices.ts";
import { warpGroups } from "../instructions/matrices/warp-groups.ts";
import { atomics } from "../instructions/memory/atomics.ts";
import { copies } from "../instructions/memory/copies.ts";
import { mbarriers } from "../instructions/memory/mbarriers.ts";
import { tensorMaps } from "../instructions/memory/tensor-maps.ts";
import { textures } from "../instructions/memory/textures.ts";
import { moves } from "../instructions/moves.ts";
import type { Compile, Meaning, Site } from "../instructions/site.ts";
import { barriers } from "../instructions/warps/barriers.ts";
import { collectives } from "../instructions/warps/collectives.ts";
import { control } from "../instructions/warps/control.ts";

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
