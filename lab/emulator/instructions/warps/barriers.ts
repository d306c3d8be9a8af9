// Barriers of a block. Also instructions about clusters, dependent launches and register counts, some of which are
// refused.

import type { Operand } from "#ptx";
import { KernelError } from "../../machine/errors.ts";
import { REGROUP } from "../../machine/warp.ts";
import { wordsOf } from "../../numbers/types.ts";
import { copy } from "../moves.ts";
import type { Compile } from "../site.ts";
import { collective } from "./collectives.ts";

/** bar and barrier; `bar` is `barrier.aligned`. */
const bar: Compile = (site) => {
  if (site.has("warp")) return collective(site.read(site.operand(0), "b32"), () => undefined);
  if (site.has("cluster")) return site.fail("barriers of a cluster");
  const aligned = site.instruction.operation.opcode === "bar" || site.has("aligned");
  const stays = !site.has("arrive");
  const red = site.has("red");
  const kind = site.one(["popc", "and", "or"]);
  const rest = red ? site.operands.slice(1) : site.operands;
  const id = site.read(rest[0] ?? site.fail("its number is missing"), "u32");
  const counted = red ? rest.length === 3 : rest.length === 2;
  const count = counted && rest[1] !== undefined ? site.read(rest[1], "u32") : undefined;
  const source = rest.at(-1);
  const reduction =
    red && kind !== undefined && source !== undefined
      ? {
          kind,
          source: site.read(source, "pred"),
          result: site.write(site.operand(0), kind === "popc" ? "u32" : "pred"),
        }
      : undefined;
  if (reduction !== undefined) site.reduces(reduction);
  return {
    control: (w) => {
      const { block, lanes, n } = w;
      const ids = new Set<number>();
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        const number = w.u32[id + l] as number;
        const expected = count === undefined ? 0 : (w.u32[count + l] as number);
        block.arrive(w, l, number, expected, stays, aligned, reduction);
        ids.add(number);
      }
      for (const number of ids) block.release(number);
      return REGROUP;
    },
  };
};

const nanosleep: Compile = () => ({
  control: (w) => {
    w.yields = true;
    return w.pc + 1;
  },
});

/** Refuses an instruction that needs other blocks or hardware state. */
const refused =
  (why: string): Compile =>
  (site) =>
    site.fail(why);

const zero: Operand = { kind: "immediate", text: "0" };

/** An address in the shared memory of the cluster's block of that rank. A block is a cluster of its own: its rank is 0. */
const atRank: Compile = (site) => {
  const type = site.type();
  const move = copy(
    site.write(site.operand(0), type),
    site.read(site.operand(1), type),
    wordsOf(type),
  );
  const rank = site.read(site.operand(2), "u32");
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      if (w.u32[rank + l] !== 0)
        throw new KernelError("PTX_OUT_OF_BOUNDS", "the cluster has one block only", l);
    }
    move(w, lanes, n);
  };
};

export const barriers: Readonly<Record<string, Compile>> = {
  bar,
  barrier: bar,
  nanosleep,
  // Without the attribute of a dependent launch, earlier grids have ended, and nobody waits for the signal.
  griddepcontrol: () => ({ control: (w) => w.pc + 1 }),
  mapa: atRank,
  getctarank: (site) => copy(site.write(site.operand(0), "u32"), site.read(zero, "u32"), 1),
  setmaxnreg: () => collective(undefined, () => undefined),
  tcgen05: refused("tensor memory"),
};
