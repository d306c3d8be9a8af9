// Barriers of a block, mbarrier objects, and asynchronous copies, which are done at once: a copy that is
// waited for too late or not at all goes unnoticed.
import { Fault } from "./faults.ts";
import { together } from "./lanes.ts";
import { bracketed, locate } from "./moves.ts";
import type { Compile, Meaning, Site } from "./site.ts";
import { REGROUP, type Warp } from "./warp.ts";

/** bar and barrier; .aligned is what `bar` means. */
const bar: Compile = (site) => {
  if (site.has("warp")) return together(site.read(site.operand(0), "b32"), () => undefined);
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

// An mbarrier as we keep it in its 64 bits, from the lowest: arrivals still missing in this phase (20 bits), in
// the next ones (20), bytes announced and not yet copied (23, two's complement), the phase (1). PTX leaves the
// layout open.
interface Mbarrier {
  pending: number;
  expected: number;
  bytes: number;
  phase: number;
}

const unpack = (word: bigint): Mbarrier => ({
  pending: Number(word & 0xfffffn),
  expected: Number((word >> 20n) & 0xfffffn),
  bytes: Number(BigInt.asIntN(23, word >> 40n)),
  phase: Number(word >> 63n),
});

const packed = ({ pending, expected, bytes, phase }: Mbarrier): bigint =>
  BigInt(pending) |
  (BigInt(expected) << 20n) |
  (BigInt.asUintN(23, BigInt(bytes)) << 40n) |
  (BigInt(phase) << 63n);

function settle(bar: Mbarrier): void {
  if (bar.pending > 0 || bar.bytes !== 0) return;
  bar.phase ^= 1;
  bar.pending = bar.expected;
}

/** Changes the live object at the shared address `at`; returns it as it was. */
function change(w: Warp, lane: number, at: number, by: (bar: Mbarrier) => void): bigint {
  if (!w.block.mbarriers.has(at))
    throw new Fault("PTX_BAD_BARRIER", `no mbarrier is live at 0x${at.toString(16)}`, lane);
  const { u64 } = w.block.shared;
  const old = u64[at >> 3] as bigint;
  const bar = unpack(old);
  by(bar);
  settle(bar);
  u64[at >> 3] = packed(bar);
  return old;
}

const mbarrierAddress = (site: Site, index: number) => {
  if (site.has("shared::cluster")) return site.fail("the shared memory of other blocks");
  const space = site.has("shared") || site.has("shared::cta") ? "shared" : "";
  return locate(site.address(bracketed(site, index), space), 8, "an mbarrier access");
};

const mbarrier: Compile = (site) => {
  const [what = ""] = site.instruction.operation.modifiers;
  switch (what) {
    case "init": {
      const find = mbarrierAddress(site, 0);
      const count = site.read(site.operand(1), "u32");
      return (w, lanes, n) => {
        for (let k = 0; k < n; k++) {
          const l = lanes[k] as number;
          const at = find(w, l);
          const { mbarriers } = w.block;
          if (mbarriers.has(at))
            throw new Fault(
              "PTX_BAD_BARRIER",
              `the mbarrier at 0x${at.toString(16)} is live: it must be made invalid first`,
              l,
            );
          mbarriers.add(at);
          const expected = w.u32[count + l] as number;
          w.segment.u64[at >> 3] = packed({ pending: expected, expected, bytes: 0, phase: 0 });
        }
      };
    }
    case "inval": {
      const find = mbarrierAddress(site, 0);
      return (w, lanes, n) => {
        for (let k = 0; k < n; k++) {
          const l = lanes[k] as number;
          const at = find(w, l);
          change(w, l, at, () => undefined);
          w.block.mbarriers.delete(at);
        }
      };
    }
    case "arrive":
    case "arrive_drop":
      return arrive(site, what === "arrive_drop");
    case "expect_tx":
    case "complete_tx": {
      const find = mbarrierAddress(site, 0);
      const bytes = site.read(site.operand(1), "u32");
      const sign = what === "expect_tx" ? 1 : -1;
      return (w, lanes, n) => {
        for (let k = 0; k < n; k++) {
          const l = lanes[k] as number;
          change(w, l, find(w, l), (bar) => {
            bar.bytes += sign * (w.u32[bytes + l] as number);
          });
        }
      };
    }
    case "test_wait":
    case "try_wait":
      return wait(site);
    case "pending_count": {
      const d = site.write(site.operand(0), "u32");
      const a = site.read(site.operand(1), "b64");
      return (w, lanes, n) => {
        for (let k = 0; k < n; k++) {
          const l = lanes[k] as number;
          w.i32[d + l] = (w.i32[a + 2 * l] as number) & 0xfffff;
        }
      };
    }
    default:
      return site.fail("this operation on an mbarrier");
  }
};

function arrive(site: Site, drops: boolean): Meaning {
  const first = site.operand(0);
  const returns = first.kind === "name";
  const at = returns ? 1 : 0;
  const find = mbarrierAddress(site, at);
  const state = returns ? site.write(first, "b64") : undefined;
  const amount = site.operands[at + 1];
  const expects = site.has("expect_tx");
  const slot = amount === undefined ? undefined : site.read(amount, "u32");
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const value = slot === undefined ? undefined : (w.u32[slot + l] as number);
      const old = change(w, l, find(w, l), (bar) => {
        const count = expects ? 1 : (value ?? 1);
        if (expects) bar.bytes += value ?? 0;
        if (count > bar.pending)
          throw new Fault("PTX_BAD_BARRIER", "more arrivals than the mbarrier waits for", l);
        bar.pending -= count;
        if (drops) bar.expected -= count;
      });
      if (state !== undefined) w.u64[state / 2 + l] = old;
    }
  };
}

/** Has the phase of a token, or the phase of a parity, ended? A turn ends here, so that others get on. */
function wait(site: Site): Meaning {
  const d = site.write(site.operand(0), "pred");
  const find = mbarrierAddress(site, 1);
  const parity = site.has("parity");
  const token = site.read(site.operand(2), parity ? "u32" : "b64");
  return {
    control: (w) => {
      const { lanes, n } = w;
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        const at = find(w, l);
        const { phase } = unpack(change(w, l, at, () => undefined));
        const waited = parity
          ? (w.u32[token + l] as number) & 1
          : Number((w.u64[token / 2 + l] as bigint) >> 63n);
        w.i32[d + l] = phase !== waited ? 1 : 0;
        if (phase === waited) w.yields = true;
      }
      return w.pc + 1;
    },
  };
}

/** cp.async: the copy, now; a source shorter than the destination is filled up with zeros. */
const cp: Compile = (site) => {
  const { modifiers } = site.instruction.operation;
  if (modifiers[0] !== "async") return site.fail("this copy");
  const next = modifiers[1] ?? "";
  if (next === "commit_group" || next === "wait_group" || next === "wait_all")
    return () => undefined;
  if (next === "mbarrier") return arriveForCopies(site);
  if (next === "bulk") return bulkCopy(site);
  const size = site.operand(2);
  const bytes = size.kind === "immediate" ? Number(size.text) : Number.NaN;
  if (!(bytes === 4 || bytes === 8 || bytes === 16)) return site.fail("this size");
  const to = locate(site.address(bracketed(site, 0), "shared"), bytes, "a copy's store");
  const from = locate(site.address(bracketed(site, 1), "global"), bytes, "a copy's load");
  const extra = site.operands[3];
  const hint = site.has("L2::cache_hint");
  const more = extra !== undefined && !(hint && site.operands.length === 4);
  const source = more ? site.read(extra, "u32") : undefined;
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const count = source === undefined ? bytes : Math.min(w.u32[source + l] as number, bytes);
      const at = to(w, l);
      const shared = w.segment.u8;
      shared.fill(0, at, at + bytes);
      if (count === 0) continue;
      const start = from(w, l);
      shared.set(w.segment.u8.subarray(start, start + count), at);
    }
  };
};

/** cp.async.mbarrier.arrive: the copies before it are done. */
function arriveForCopies(site: Site): Meaning {
  const find = mbarrierAddress(site, 0);
  const counts = site.has("noinc");
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      if (counts)
        change(w, l, find(w, l), (bar) => {
          bar.pending -= 1;
        });
    }
  };
}

/** From global to this block's shared memory, or back; without tensors, multicast or reductions. */
function bulkCopy(site: Site): Meaning {
  const { modifiers } = site.instruction.operation;
  if (/^(commit_group|wait_group)/.test(modifiers[2] ?? "")) return () => undefined;
  const toShared = /^shared::(cluster|cta)$/.test(modifiers[2] ?? "") && modifiers[3] === "global";
  const toGlobal = modifiers[2] === "global" && modifiers[3] === "shared::cta";
  if ((!toShared && !toGlobal) || modifiers.some((one) => one.includes("multicast")))
    return site.fail("this copy");
  const to = locate(
    site.address(bracketed(site, 0), toShared ? "shared" : "global"),
    16,
    "a copy's store",
  );
  const from = locate(
    site.address(bracketed(site, 1), toShared ? "global" : "shared"),
    16,
    "a copy's load",
  );
  const size = site.read(site.operand(2), "u32");
  const bar = toShared ? mbarrierOfCopy(site) : undefined;
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const bytes = w.u32[size + l] as number;
      const at = to(w, l);
      const target = w.segment;
      const start = from(w, l);
      const end =
        w.segment === w.block.shared ? w.block.running.sharedBytes : w.block.running.memory.end;
      const room =
        target === w.block.shared ? w.block.running.sharedBytes : w.block.running.memory.end;
      if (start + bytes > end || (toShared && at + bytes > room))
        throw new Fault("PTX_OUT_OF_BOUNDS", `a copy of ${bytes} bytes is out of bounds`, l);
      target.u8.set(w.segment.u8.subarray(start, start + bytes), at);
      if (bar !== undefined)
        change(w, l, bar(w, l), (one) => {
          one.bytes -= bytes;
        });
    }
  };
}

/** Addresses of a block's own shared memory are the same in its cluster of one. */
const mbarrierOfCopy = (site: Site) =>
  locate(site.address(bracketed(site, 3), "shared"), 8, "an mbarrier access");

const nanosleep: Compile = () => ({
  control: (w) => {
    w.yields = true;
    return w.pc + 1;
  },
});

/** What only hardware or other blocks can answer. */
const refused =
  (why: string): Compile =>
  (site) =>
    site.fail(why);

export const barriers: Readonly<Record<string, Compile>> = {
  bar,
  barrier: bar,
  mbarrier,
  cp,
  nanosleep,
  griddepcontrol: refused("launches that depend on each other"),
  mapa: refused("clusters"),
  getctarank: refused("clusters"),
  setmaxnreg: refused("registers moved between warps"),
  wgmma: refused("asynchronous matrix products"),
  tcgen05: refused("tensor memory"),
};
