// cp: asynchronous copies between global and shared memory. machine/async-copies.ts decides when they are done.

import type { Kind } from "../../machine/async-copies.ts";
import { locate, memoryOperand } from "../moves.ts";
import type { Compile, Meaning, Site } from "../site.ts";
import { bulkCopy } from "./bulk-copies.ts";
import { arriveForCopies } from "./mbarriers.ts";
import { tensorCopy } from "./tensor-copies.ts";

const cp: Compile = (site) => {
  const { modifiers } = site.instruction.operation;
  if (modifiers.includes("bulk")) {
    if (modifiers.includes("prefetch")) return () => undefined;
    if (modifiers.includes("tensor")) return tensorCopy(site);
    return groups(site, "bulk copies") ?? bulkCopy(site);
  }
  if (modifiers[0] !== "async") return site.fail("this copy");
  if (modifiers[1] === "mbarrier") return arriveForCopies(site);
  return groups(site, "copies") ?? smallCopy(site);
};

/** commit_group, wait_group N and wait_all; undefined for other operations. */
function groups(site: Site, kind: Kind): Meaning | undefined {
  if (site.has("commit_group"))
    return (w, lanes, n) => {
      for (let k = 0; k < n; k++) w.block.asyncCopies.commit(kind, w.threadOf(lanes[k] as number));
    };
  const all = site.has("wait_all");
  if (!all && !site.has("wait_group")) return undefined;
  const left = all ? undefined : site.read(site.operand(0), "u32");
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const owner = w.threadOf(l);
      if (all) w.block.asyncCopies.commit(kind, owner);
      w.block.asyncCopies.wait(kind, owner, left === undefined ? 0 : (w.u32[left + l] as number));
    }
  };
}

/** cp.async: if the source is shorter than the destination, the rest is filled with zeros. */
function smallCopy(site: Site): Meaning {
  const size = site.operand(2);
  const bytes = size.kind === "immediate" ? Number(size.text) : Number.NaN;
  if (!(bytes === 4 || bytes === 8 || bytes === 16)) return site.fail("this size");
  const to = locate(site.address(memoryOperand(site, 0), "shared"), bytes, "a copy's store");
  const from = locate(site.address(memoryOperand(site, 1), "global"), bytes, "a copy's load");
  const extra = site.operands[3];
  const hint = site.has("L2::cache_hint");
  const more = extra !== undefined && !(hint && site.operands.length === 4);
  const source = more ? site.read(extra, "u32") : undefined;
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const count = source === undefined ? bytes : Math.min(w.u32[source + l] as number, bytes);
      const at = to(w, l);
      const shared = w.segment;
      const start = count === 0 ? 0 : from(w, l);
      const global = w.segment;
      w.block.asyncCopies.start("copies", w, l, site.pc, () => {
        shared.u8.fill(0, at, at + bytes);
        if (count > 0) shared.u8.set(global.u8.subarray(start, start + count), at);
      });
    }
  };
}

export const copies: Readonly<Record<string, Compile>> = { cp };
