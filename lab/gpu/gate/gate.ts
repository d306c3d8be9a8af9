// The gate of best-effort clients, called in a library that is built for the model. So the model uses the same code,
// not a copy of it. A call costs 0.1 to 0.2 us.
import koffi from "koffi";
import { gateLibrary } from "#core";
import { policyNamed } from "#policy";
import type { Dim3 } from "#profile";
import { type Rules, Settings, view } from "#protocol";
import { noGate } from "../model/errors.ts";

/** As in native/gate/gate.h. Larger values are the other reasons to wait. */
export const RUN = 0;
export const TRICKLE = 1;
export const PACED = 6;

/** A best-effort client's view at one moment. */
export interface Seen {
  highRegistered: boolean;
  highActive: boolean;
  highClass: number;
  idleUs: number;
  myTurn: boolean;
  heldUs: number;
  trickledUs: number;
  aheadUs: number;
  kernelsOut: number;
  highLeavesSms: number;
  highLeftUs: number;
  spentUs: number;
  earlyNs: number;
  midIteration: boolean;
  highCopying: boolean;
  /** Since the oldest active request began. */
  activeUs: number;
}

export const newSeen = (): Seen => ({
  highRegistered: false,
  highActive: false,
  highClass: 0,
  idleUs: 0,
  myTurn: true,
  heldUs: 0,
  trickledUs: 0,
  aheadUs: 0,
  kernelsOut: 0,
  highLeavesSms: 0,
  highLeftUs: 0,
  spentUs: 0,
  earlyNs: 0,
  midIteration: false,
  highCopying: false,
  activeUs: 0,
});

/** One rule table, and the gate's decisions with these rules. */
export interface Gate {
  /** The rules in force, as the policy gave them. The gate limits them to their ranges. */
  readonly rules: Rules;
  setRules(rules: Rules): void;
  release(seen: Seen): number;
  admit(seen: Seen, us: number, kernelClass: number, sms: number, copy: boolean): number;
  /** Whether a border must come before an item that is expected to take `us`. */
  closes(chunkUs: number, chunkLaunches: number, us: number): boolean;
  /**
   * Whether more may be queued behind the hold word. Arguments: the work that is submitted and not known to be done.
   */
  hasRoom(launchesOut: number, outUs: number): boolean;
  /** Whether a copy may be submitted beside a request after it waited so long. */
  admitCopy(waitedUs: number, aheadUs: number, highCopying: boolean): number;
  /** The spent budget after the item that `admit` was last called for is submitted. */
  spentAfter(): number;
  /** When the launch after one at `nowNs` is due. */
  dueAfter(dueNs: number, nowNs: number): number;
  /** One look of a helper thread: see hold.ts. */
  hold(block: Float64Array): void;
}

/** Throws a UserError if there is no library. */
export function openGate(path?: string): Gate {
  const { release, admit, closes, admitCopy, hasRoom, spentAfter, dueAfter, hold } = load(
    path ?? gateLibrary(),
  );
  const settings = new Uint8Array(new ArrayBuffer(Settings.size));
  const fields = view(Settings, settings.buffer);
  const seenWords = new Uint32Array(32);
  const item = new Uint32Array(5);
  const chunk = new Uint32Array(2);
  let current = { ...fields } as Rules;
  /** u64 each. No value seen here exceeds 2^32. */
  const look = (seen: Seen) => {
    seenWords[0] = seen.highRegistered ? 1 : 0;
    seenWords[2] = seen.highActive ? 1 : 0;
    seenWords[4] = seen.highClass;
    seenWords[6] = Math.min(seen.idleUs, 0xffffffff);
    seenWords[8] = seen.myTurn ? 1 : 0;
    seenWords[10] = Math.min(seen.heldUs, 0xffffffff);
    seenWords[12] = Math.min(seen.trickledUs, 0xffffffff);
    seenWords[14] = Math.min(Math.ceil(seen.aheadUs), 0xffffffff);
    seenWords[16] = seen.kernelsOut;
    seenWords[18] = seen.highLeavesSms;
    seenWords[20] = seen.highLeftUs;
    seenWords[22] = Math.min(seen.spentUs, 0xffffffff);
    seenWords[24] = Math.min(seen.earlyNs, 0xffffffff);
    seenWords[26] = seen.midIteration ? 1 : 0;
    seenWords[28] = seen.highCopying ? 1 : 0;
    seenWords[30] = Math.min(seen.activeUs, 0xffffffff);
  };
  return {
    get rules() {
      return current;
    },
    setRules(rules) {
      Object.assign(fields, rules);
      current = { ...rules };
    },
    release(seen) {
      look(seen);
      return release(settings, seenWords);
    },
    admit(seen, us, kernelClass, sms, copy) {
      look(seen);
      item[0] = us;
      item[1] = 1;
      item[2] = kernelClass;
      item[3] = sms;
      item[4] = copy ? 1 : 0;
      return admit(settings, seenWords, item);
    },
    closes(chunkUs, chunkLaunches, us) {
      chunk[0] = chunkUs;
      chunk[1] = chunkLaunches;
      item[0] = us;
      item[1] = 1;
      return closes(settings, chunk, item) === 1;
    },
    admitCopy: (waitedUs, aheadUs, highCopying) =>
      admitCopy(settings, Math.floor(waitedUs), aheadUs, highCopying ? 1 : 0),
    hasRoom: (launchesOut, outUs) => hasRoom(settings, launchesOut, outUs * 1000) === 1,
    spentAfter: () => Number(spentAfter(settings, seenWords, item)),
    dueAfter: (dueNs, nowNs) =>
      Number(dueAfter(settings, Math.max(0, Math.round(dueNs)), Math.round(nowNs))),
    hold: (block) => hold(settings, block),
  };
}

/** For arrangements without a gate: needs no library. */
export const openDoor: Gate = {
  rules: policyNamed("off").rules({ isolated: true, high: [] }),
  setRules() {},
  release: () => RUN,
  admit: () => RUN,
  closes: () => false,
  admitCopy: () => RUN,
  hasRoom: () => true,
  spentAfter: () => 0,
  dueAfter: () => 0,
  hold() {},
};

/**
 * Divides a product as native/gate/parts.h does, with tiles of the grid instead of lines. A part has `lines` on this
 * side; undefined: the product stays whole.
 */
export function partsOfGrid(
  grid: Dim3,
  sms: number,
  us: number,
  targetUs: number,
): { readonly side: 0 | 1; readonly lines: number } | undefined {
  const parts = new Uint32Array(2);
  load(gateLibrary()).parts(Uint32Array.from([...grid, sms, us, targetUs]), parts);
  const [side, lines = 0] = parts;
  return lines > 0 ? { side: side === 1 ? 1 : 0, lines } : undefined;
}

type Call = (...buffers: readonly (Uint8Array | Uint32Array)[]) => number;

interface Decisions {
  readonly release: Call;
  readonly admit: Call;
  readonly closes: Call;
  readonly hasRoom: (settings: Uint8Array, launchesOut: number, outNs: number) => number;
  readonly admitCopy: (
    settings: Uint8Array,
    waitedUs: number,
    aheadUs: number,
    highCopying: number,
  ) => number;
  readonly spentAfter: Call;
  readonly dueAfter: (settings: Uint8Array, dueNs: number, nowNs: number) => number | bigint;
  readonly hold: (settings: Uint8Array, block: Float64Array) => void;
  readonly parts: (product: Uint32Array, parts: Uint32Array) => void;
}

const loaded = new Map<string, Decisions>();

function load(path: string): Decisions {
  const known = loaded.get(path) ?? declare(path);
  loaded.set(path, known);
  return known;
}

function declare(path: string): Decisions {
  try {
    const library = koffi.load(path);
    return {
      release: library.func("uint32_t cotenant_release(void*, void*)"),
      admit: library.func("uint32_t cotenant_admit(void*, void*, void*)"),
      closes: library.func("uint32_t cotenant_closes(void*, void*, void*)"),
      admitCopy: library.func("uint32_t cotenant_admit_copy(void*, uint64_t, uint64_t, uint32_t)"),
      hasRoom: library.func("uint32_t cotenant_has_room(void*, uint64_t, uint64_t)"),
      spentAfter: library.func("uint64_t cotenant_spent_after(void*, void*, void*)"),
      dueAfter: library.func("uint64_t cotenant_due_after(void*, uint64_t, uint64_t)"),
      hold: library.func("void cotenant_hold(void*, void*)"),
      parts: library.func("void cotenant_parts(void*, void*)"),
    };
  } catch (error) {
    throw noGate(path, error instanceof Error ? error.message : String(error));
  }
}
