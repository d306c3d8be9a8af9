// The gate of best-effort clients, called in a library that is built for the model. So the model uses the same code,
// not a copy of it. A call costs 0.1 to 0.2 us.
import koffi from "koffi";
import { gateLibrary } from "#core";
import { policyNamed } from "#policy";
import type { Dim3 } from "#profile";
import {
  answers,
  type BlockInput,
  blockInput,
  gateChunk,
  gateItem,
  gateView,
  lengthOf,
  type Rules,
  Settings,
  view,
} from "#protocol";
import { noGate } from "../model/errors.ts";

/** The gate's input about a best-effort client at one moment. */
type GateInput = BlockInput<typeof gateView>;

/** One parameter table, and the gate's decisions with these rules. */
export interface Gate {
  /** The rules in force, as the policy gave them. The gate limits them to their ranges. */
  readonly rules: Rules;
  setRules(rules: Rules): void;
  /** Input of `admit` and `spentAfter`. The caller fills all of it. */
  readonly seen: GateInput;
  admit(us: number, kernelClass: number, sms: number, copy: boolean): number;
  /** Whether a preemption point must come before an item that is expected to take `us`. */
  closes(chunkUs: number, chunkLaunches: number, us: number): boolean;
  /**
   * Whether more may be queued behind the pause flag. Arguments: the work that is submitted and not known to be done.
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
  const { admit, closes, admitCopy, hasRoom, spentAfter, dueAfter, hold } = load(
    path ?? gateLibrary(),
  );
  const settings = new Uint8Array(new ArrayBuffer(Settings.size));
  const fields = view(Settings, settings.buffer);
  const [seenBlock, itemBlock, chunkBlock] = [gateView, gateItem, gateChunk].map(
    (fields) => new Float64Array(lengthOf(fields)),
  ) as [Float64Array, Float64Array, Float64Array];
  const item = blockInput(gateItem, itemBlock);
  const chunk = blockInput(gateChunk, chunkBlock);
  let current = { ...fields } as Rules;
  return {
    get rules() {
      return current;
    },
    setRules(rules) {
      Object.assign(fields, rules);
      current = { ...rules };
    },
    seen: blockInput(gateView, seenBlock),
    admit(us, kernelClass, sms, copy) {
      Object.assign(item, { expectedUs: us, known: true, kernelClass, sms, copy });
      return admit(settings, seenBlock, itemBlock);
    },
    closes(chunkUs, chunkLaunches, us) {
      chunk.expectedUs = chunkUs;
      chunk.launches = chunkLaunches;
      item.expectedUs = us;
      item.known = true;
      return closes(settings, chunkBlock, itemBlock) === 1;
    },
    admitCopy: (waitedUs, aheadUs, highCopying) =>
      admitCopy(settings, Math.floor(waitedUs), aheadUs, highCopying ? 1 : 0),
    hasRoom: (launchesOut, outUs) => hasRoom(settings, launchesOut, outUs * 1000) === 1,
    spentAfter: () => Number(spentAfter(settings, seenBlock, itemBlock)),
    dueAfter: (dueNs, nowNs) =>
      Number(dueAfter(settings, Math.max(0, Math.round(dueNs)), Math.round(nowNs))),
    hold: (block) => hold(settings, block),
  };
}

/** For arrangements without a gate: needs no library. */
export const ungated: Gate = {
  rules: policyNamed("off").rules({ isolated: true, high: [] }),
  setRules() {},
  seen: blockInput(gateView, new Float64Array(lengthOf(gateView))),
  admit: () => answers.run,
  closes: () => false,
  admitCopy: () => answers.run,
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

type Call = (...buffers: readonly (Uint8Array | Float64Array)[]) => number;

interface Decisions {
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
