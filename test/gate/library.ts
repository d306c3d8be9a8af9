// The gate and the histogram in C++, through the library that the model uses, and what the tests give them.
import fc from "fast-check";
import koffi from "koffi";
import { policyNamed } from "#policy";
import {
  type BlockFields,
  type BlockInput,
  blockInput,
  gateItem,
  gateView,
  lengthOf,
  ruleNames,
  Settings,
  view,
} from "#protocol";
import { native } from "../native.ts";

const library = koffi.load(`${native}/libcotenant-gate.so`);
const releaseOf = library.func("uint32_t cotenant_release(void*, double*)");
const admitOf = library.func("uint32_t cotenant_admit(void*, double*, double*)");
const spentAfterOf = library.func("uint64_t cotenant_spent_after(void*, double*, double*)");
const dueAfterOf = library.func("uint64_t cotenant_due_after(void*, uint64_t, uint64_t)");
const admitCopyOf = library.func(
  "uint32_t cotenant_admit_copy(void*, uint64_t, uint64_t, uint32_t)",
);
const closesOf = library.func("uint32_t cotenant_closes(void*, double*, double*)");
const hasRoomOf = library.func("uint32_t cotenant_has_room(void*, uint64_t, uint64_t)");
export const nativeBucketOf = library.func("uint32_t cotenant_bucket_of(uint64_t)");

/** Short names of the answers, by their numbers. */
const shortNames = ["run", "progress", "high", "paused", "turn", "ahead", "paced"] as const;

export type GateView = BlockInput<typeof gateView>;
export type Item = BlockInput<typeof gateItem>;
export type Rules = Partial<Record<keyof (typeof Settings)["fields"], number>>;

export const strict: Rules = policyNamed("strict").rules({ isolated: true, high: [] });
const quiet = { highRegistered: true, idleUs: 1e9, myTurn: true };
const small = { expectedUs: 20, known: true };

function settings(rules: Rules): Uint8Array {
  const buffer = new ArrayBuffer(Settings.size);
  Object.assign(view(Settings, buffer), rules);
  return new Uint8Array(buffer);
}
function block<F extends BlockFields>(fields: F, values: Partial<BlockInput<F>>): Float64Array {
  const doubles = new Float64Array(lengthOf(fields));
  Object.assign(blockInput(fields, doubles), values);
  return doubles;
}
const viewBlock = (seen: Partial<GateView>) => block(gateView, { ...quiet, ...seen });
const itemBlock = (item: Partial<Item>) => block(gateItem, { ...small, ...item });

export const release = (rules: Rules, seen: Partial<GateView>) =>
  shortNames[releaseOf(settings(rules), viewBlock(seen))];
export const admit = (rules: Rules, seen: Partial<GateView>, item: Partial<Item> = {}) =>
  shortNames[admitOf(settings(rules), viewBlock(seen), itemBlock(item))];
/** Admits a copy that is queued concurrently with requests. */
export const admitCopy = (rules: Rules, waitedUs: number, aheadUs: number, highCopying: boolean) =>
  shortNames[admitCopyOf(settings(rules), waitedUs, aheadUs, highCopying ? 1 : 0)];
export const closes = (rules: Rules, us: number, launches: number, item: Partial<Item> = {}) =>
  closesOf(settings(rules), Float64Array.of(us, launches), itemBlock(item)) === 1;
/** The budget that is spent once a launch was let through. */
export const spentAfter = (rules: Rules, seen: Partial<GateView>, us: number) =>
  Number(spentAfterOf(settings(rules), viewBlock(seen), itemBlock({ expectedUs: us })));
/** When the launch after this one is due. */
export const dueAfter = (rules: Rules, dueNs: number, nowNs: number) =>
  Number(dueAfterOf(settings(rules), dueNs, nowNs));
/** Whether a stream has room for another launch behind the pause flag. */
export const hasRoom = (rules: Rules, launches: number, ns: number) =>
  hasRoomOf(settings(rules), launches, ns) === 1;

const anyU32 = fc.nat({ max: 0xffffffff });
export const anySettings: fc.Arbitrary<Rules> = fc.record(
  Object.fromEntries(ruleNames.map((name) => [name, anyU32])),
);
export const anyView: fc.Arbitrary<GateView> = fc.record({
  highRegistered: fc.boolean(),
  highActive: fc.boolean(),
  highClass: fc.nat({ max: 2 }),
  idleUs: fc.nat(),
  myTurn: fc.boolean(),
  heldUs: fc.nat(),
  progressedUs: fc.nat(),
  aheadUs: fc.nat(),
  kernelsOut: fc.nat({ max: 1000 }),
  highLeavesSms: fc.nat({ max: 132 }),
  highLeftUs: fc.nat(),
  spentUs: fc.nat(),
  earlyNs: fc.nat(),
  midIteration: fc.boolean(),
  highCopying: fc.boolean(),
  activeUs: fc.nat(),
});
export const anyItem: fc.Arbitrary<Item> = fc.record({
  expectedUs: fc.nat(),
  known: fc.boolean(),
  kernelClass: fc.nat({ max: 2 }),
  sms: fc.nat({ max: 200 }),
  copy: fc.boolean(),
});
