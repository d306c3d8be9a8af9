// mbarrier objects. A phase ends when the expected arrivals and bytes have come.
import { KernelError } from "../../machine/errors.ts";
import type { Warp } from "../../machine/warp.ts";
import { type Locate, locate, memoryOperand } from "../moves.ts";
import type { Compile, Meaning, Site } from "../site.ts";

// The 64 bits of an mbarrier as the emulator uses them; PTX does not define them. From the lowest bit: arrivals still
// missing in this phase (20 bits), arrivals of the next phases (20), bytes announced and not yet copied (23, two's
// complement), the phase (1).
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

const pack = ({ pending, expected, bytes, phase }: Mbarrier): bigint =>
  BigInt(pending) |
  (BigInt(expected) << 20n) |
  (BigInt.asUintN(23, BigInt(bytes)) << 40n) |
  (BigInt(phase) << 63n);

function settle(bar: Mbarrier): void {
  if (bar.pending > 0 || bar.bytes !== 0) return;
  bar.phase ^= 1;
  bar.pending = bar.expected;
}

/** The live object at the shared address `at`. */
function live(w: Warp, lane: number, at: number): bigint {
  if (!w.block.mbarriers.has(at))
    throw new KernelError("PTX_BAD_BARRIER", `no mbarrier is live at 0x${at.toString(16)}`, lane);
  return w.block.shared.u64[at >> 3] as bigint;
}

/** Changes the live object at the shared address `at`; returns it as it was. */
function change(w: Warp, lane: number, at: number, by: (bar: Mbarrier) => void): bigint {
  const old = live(w, lane, at);
  const bar = unpack(old);
  by(bar);
  settle(bar);
  w.block.shared.u64[at >> 3] = pack(bar);
  w.block.mbarriers.set(at, true);
  return old;
}

/** Reports that expected bytes have arrived. */
export function complete(w: Warp, lane: number, at: number, bytes: number): void {
  change(w, lane, at, (bar) => {
    bar.bytes -= bytes;
  });
}

/** A block is a cluster of its own, so `shared::cluster` is its own shared memory. */
export function mbarrierAddress(site: Site, index: number): Locate {
  const space =
    site.one(["shared", "shared::cta", "shared::cluster"]) === undefined ? "" : "shared";
  return locate(site.address(memoryOperand(site, index), space), 8, "an mbarrier access");
}

const mbarrier: Compile = (site) => {
  const [what = ""] = site.instruction.operation.modifiers;
  switch (what) {
    case "init":
      return init(site);
    case "inval": {
      const find = mbarrierAddress(site, 0);
      return (w, lanes, n) => {
        for (let k = 0; k < n; k++) {
          const l = lanes[k] as number;
          const at = find(w, l);
          live(w, l, at);
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
      const sign = what === "expect_tx" ? -1 : 1;
      return (w, lanes, n) => {
        for (let k = 0; k < n; k++) {
          const l = lanes[k] as number;
          complete(w, l, find(w, l), sign * (w.u32[bytes + l] as number));
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

/**
 * An unused mbarrier may be initialised again. Triton does so with mbarriers that it never waits for. Others must be
 * invalidated first.
 */
function init(site: Site): Meaning {
  const find = mbarrierAddress(site, 0);
  const count = site.read(site.operand(1), "u32");
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const at = find(w, l);
      const { mbarriers } = w.block;
      if (mbarriers.get(at) === true)
        throw new KernelError(
          "PTX_BAD_BARRIER",
          `the mbarrier at 0x${at.toString(16)} is live: it must be made invalid first`,
          l,
        );
      mbarriers.set(at, false);
      const expected = w.u32[count + l] as number;
      w.segment.u64[at >> 3] = pack({ pending: expected, expected, bytes: 0, phase: 0 });
    }
  };
}

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
          throw new KernelError("PTX_BAD_BARRIER", "more arrivals than the mbarrier waits for", l);
        bar.pending -= count;
        if (drops) bar.expected -= count;
      });
      if (state !== undefined) w.u64[state / 2 + l] = old;
    }
  };
}

/** Whether the phase of a token or parity has ended. Ends the warp's turn, so that others can continue. */
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
        const { phase } = unpack(live(w, l, find(w, l)));
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

/** cp.async.mbarrier.arrive: arrives when the thread's earlier copies are done. */
export function arriveForCopies(site: Site): Meaning {
  const find = mbarrierAddress(site, 0);
  const counts = site.has("noinc");
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const owner = w.threadOf(l);
      w.block.asyncCopies.commit("copies", owner);
      w.block.asyncCopies.wait("copies", owner, 0);
      if (counts)
        change(w, l, find(w, l), (bar) => {
          bar.pending -= 1;
        });
    }
  };
}

export const mbarriers: Readonly<Record<string, Compile>> = { mbarrier };
