// Warp-wide operations: shuffles, votes, matches, reductions.

import type { Step } from "../../machine/warp.ts";
import { popcount } from "../../numbers/popcount.ts";
import { isSigned, wordsOf } from "../../numbers/types.ts";
import type { Compile, Meaning } from "../site.ts";

/** Lanes wait for all lanes of the mask in the operand, then execute `act` together. */
export function collective(mask: number | undefined, act: Step): Meaning {
  return {
    control: (warp) =>
      warp.meet(mask === undefined ? () => 0xffffffff : (lane) => warp.u32[mask + lane] as number),
    meeting: act,
  };
}

const before = new Int32Array(32);

const shfl: Compile = (site) => {
  const mode = site.one(["up", "down", "bfly", "idx"]) ?? site.fail("its mode is missing");
  if (!site.has("sync")) return site.fail("shuffles without a mask");
  const to = site.operand(0);
  const d = site.write(to.kind === "pair" ? to.first : to, "b32");
  const p = to.kind === "pair" ? site.write(to.second, "pred") : undefined;
  const a = site.read(site.operand(1), "b32");
  const b = site.read(site.operand(2), "b32");
  const c = site.read(site.operand(3), "b32");
  return collective(site.read(site.operand(4), "b32"), (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      before[l] = w.i32[a + l] as number;
    }
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const by = (w.i32[b + l] as number) & 31;
      const clamp = (w.i32[c + l] as number) & 31;
      const segment = ((w.i32[c + l] as number) >> 8) & 31;
      const last = (l & segment) | (clamp & ~segment);
      const first = l & segment;
      let from: number;
      let inside: boolean;
      if (mode === "up") {
        from = l - by;
        inside = from >= last;
      } else {
        if (mode === "down") from = l + by;
        else if (mode === "bfly") from = l ^ by;
        else from = first | (by & ~segment);
        inside = from <= last;
      }
      if (!inside) from = l;
      // The value of a lane that does not take part is undefined; the lane's own is used.
      w.i32[d + l] = includes(lanes, n, from) ? (before[from] as number) : (before[l] as number);
      if (p !== undefined) w.i32[p + l] = inside ? 1 : 0;
    }
  });
};

function includes(lanes: Uint8Array, n: number, lane: number): boolean {
  if (n === 32) return true;
  for (let k = 0; k < n; k++) if (lanes[k] === lane) return true;
  return false;
}

const vote: Compile = (site) => {
  const kind = site.one(["all", "any", "uni", "ballot"]) ?? site.fail("its mode is missing");
  if (!site.has("sync")) return site.fail("votes without a mask");
  const d = site.write(site.operand(0), kind === "ballot" ? "b32" : "pred");
  const a = site.read(site.operand(1), "pred");
  return collective(site.read(site.operand(2), "b32"), (w, lanes, n) => {
    let ballot = 0;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      if (w.i32[a + l] !== 0) ballot |= 1 << l;
    }
    const yes = popcount(ballot);
    const value =
      kind === "ballot"
        ? ballot
        : Number(kind === "all" ? yes === n : kind === "any" ? yes > 0 : yes === 0 || yes === n);
    for (let k = 0; k < n; k++) w.i32[d + (lanes[k] as number)] = value;
  });
};

const match: Compile = (site) => {
  const all = site.has("all");
  const type = site.type();
  const words = wordsOf(type);
  const to = site.operand(0);
  const d = site.write(to.kind === "pair" ? to.first : to, "b32");
  const p = to.kind === "pair" ? site.write(to.second, "pred") : undefined;
  const a = site.read(site.operand(1), type);
  return collective(site.read(site.operand(2), "b32"), (w, lanes, n) => {
    const same = (l: number, o: number): boolean => {
      for (let i = 0; i < words; i++)
        if (w.i32[a + l * words + i] !== w.i32[a + o * words + i]) return false;
      return true;
    };
    const masks = Array.from(lanes.subarray(0, n), (l) =>
      lanes.subarray(0, n).reduce((mask, o) => (same(l, o) ? mask | (1 << o) : mask), 0),
    );
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const mask = masks[k] as number;
      const agreed = popcount(mask) === n;
      w.i32[d + l] = all && !agreed ? 0 : mask;
      if (p !== undefined) w.i32[p + l] = agreed ? 1 : 0;
    }
  });
};

const reductions: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => (a + b) | 0,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};

const redux: Compile = (site) => {
  const type = site.type();
  if (type === "f32") return site.fail("this type");
  const extreme = site.one(["min", "max"]);
  const signed = isSigned(type);
  const view = (x: number) => (signed ? x | 0 : x >>> 0);
  const of: ((a: number, b: number) => number) | undefined =
    extreme === undefined
      ? reductions[site.one(["add", "and", "or", "xor"]) ?? ""]
      : (a, b) => Math[extreme](view(a), view(b));
  if (of === undefined) return site.fail("its operation is missing");
  const d = site.write(site.operand(0), type);
  const a = site.read(site.operand(1), type);
  return collective(site.read(site.operand(2), "b32"), (w, lanes, n) => {
    let value = w.i32[a + (lanes[0] as number)] as number;
    for (let k = 1; k < n; k++) value = of(value, w.i32[a + (lanes[k] as number)] as number);
    for (let k = 0; k < n; k++) w.i32[d + (lanes[k] as number)] = value;
  });
};

/** The lowest lane of the mask is chosen. */
const elect: Compile = (site) => {
  const to = site.operand(0);
  if (to.kind !== "pair") return site.fail("one destination");
  const d = site.write(to.first, "b32");
  const p = site.write(to.second, "pred");
  return collective(site.read(site.operand(1), "b32"), (w, lanes, n) => {
    const leader = Math.min(...lanes.subarray(0, n));
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      w.i32[d + l] = leader;
      w.i32[p + l] = l === leader ? 1 : 0;
    }
  });
};

/** The lanes of the current group. */
const activemask: Compile = (site) => {
  const d = site.write(site.operand(0), "b32");
  return (w, lanes, n) => {
    let mask = 0;
    for (let k = 0; k < n; k++) mask |= 1 << (lanes[k] as number);
    for (let k = 0; k < n; k++) w.i32[d + (lanes[k] as number)] = mask;
  };
};

export const collectives: Readonly<Record<string, Compile>> = {
  shfl,
  vote,
  match,
  redux,
  elect,
  activemask,
};
