// Additions and subtractions of more than a word, a word at a time.

import type { Step } from "../../machine/warp.ts";
import { bitsOf } from "../../numbers/types.ts";
import type { Site } from "../site.ts";
import { value } from "./integer-operands.ts";
import { bits, type Value } from "./loops.ts";

/** add.cc, addc, sub.cc, subc, mad.cc, madc. The carry flag has a word of its own. */
export function addWithCarry(site: Site, what: "add" | "sub" | "mad", takes: boolean): Step {
  const type = site.type();
  const width = bitsOf(type);
  const mask = (1n << BigInt(width)) - 1n;
  const destination = value(site, 0, type, true);
  const sources = [1, 2, ...(what === "mad" ? [3] : [])].map((i) => value(site, i, type));
  const high = site.has("hi");
  const leaves = site.has("cc");
  const carry: Value = { slot: site.carry, bits: 1, signed: false };
  let last = 0n;
  const step = bits(destination, [...sources, carry], (...values) => {
    const [a = 0n, b = 0n, third = 0n] = values;
    const flag = takes ? (values.at(-1) ?? 0n) : 0n;
    if (what === "sub") {
      const exact = (a & mask) - (b & mask) - flag;
      last = exact < 0n ? 1n : 0n;
      return exact;
    }
    const product = what === "mad" ? a * b : 0n;
    const term = what === "mad" ? (high ? product >> BigInt(width) : product) & mask : a & mask;
    const exact = term + ((what === "mad" ? third : b) & mask) + flag;
    last = exact >> BigInt(width);
    return exact;
  });
  const one = new Uint8Array(1);
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      one[0] = lanes[k] as number;
      step(w, one, 1);
      if (leaves) w.i32[site.carry + (one[0] as number)] = Number(last);
    }
  };
}
