// The gate and the histogram in C++, through the library that the model uses, and what the tests give them.
import fc from "fast-check";
import koffi from "koffi";
import { policyNamed } from "#policy";
import { ruleNames, Settings, view } from "#protocol";
import { native } from "../native.ts";

const library = koffi.load(`${native}/libcotenant-gate.so`);
const releaseOf = library.func("uint32_t cotenant_release(void*, uint64_t*)");
const admitOf = library.func("uint32_t cotenant_admit(void*, uint64_t*, uint32_t*)");
const spentAfterOf = library.func("uint64_t cotenant_spent_after(void*, uint64_t*, uint32_t*)");
const dueAfterOf = library.func("uint64_t cotenant_due_after(void*, uint64_t, uint64_t)");
const admitCopyOf = library.func(
  "uint32_t cotenant_admit_copy(void*, uint64_t, uint64_t, uint32_t)",
);
const closesOf = library.func("uint32_t cotenant_closes(void*, uint32_t*, uint32_t*)");
const hasRoomOf = library.func("uint32_t cotenant_has_room(void*, uint64_t, uint64_t)");
export const nativeBucketOf = library.func("uint32_t cotenant_bucket_of(uint64_t)");

const answers = ["run", "trickle", "high", "paused", "turn", "ahead", "paced"] as const;

export interface GateView {
  registered: boolean;
  active: boolean;
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
  activeUs: number;
}
export interface Item {
  us: number;
  known: boolean;
  kernelClass: number;
  sms: number;
  copy: boolean;
}
export type Rules = Partial<Record<keyof (typeof Settings)["fields"], number>>;

export const strict: Rules = policyNamed("strict").rules({ isolated: true, high: [] });
const quiet: GateView = {
  registered: true,
  active: false,
  highClass: 0,
  idleUs: 1e9,
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
};
const small: Item = { us: 20, known: true, kernelClass: 0, sms: 0, copy: false };

function settings(rules: Rules): Uint8Array {
  const buffer = new ArrayBuffer(Settings.size);
  Object.assign(view(Settings, buffer), rules);
  return new Uint8Array(buffer);
}
const viewWords = (seen: GateView) =>
  BigUint64Array.from(Object.values(seen).map((v) => BigInt(v)));
const itemWords = (item: Item) => Uint32Array.from(Object.values(item).map(Number));

export const release = (rules: Rules, seen: Partial<GateView>) =>
  answers[releaseOf(settings(rules), viewWords({ ...quiet, ...seen }))];
export const admit = (rules: Rules, seen: Partial<GateView>, item: Partial<Item> = {}) =>
  answers[
    admitOf(settings(rules), viewWords({ ...quiet, ...seen }), itemWords({ ...small, ...item }))
  ];
/** Admits a copy that is queued concurrently with requests. */
export const admitCopy = (rules: Rules, waitedUs: number, aheadUs: number, highCopying: boolean) =>
  answers[admitCopyOf(settings(rules), waitedUs, aheadUs, highCopying ? 1 : 0)];
export const closes = (rules: Rules, us: number, launches: number, item: Partial<Item> = {}) =>
  closesOf(settings(rules), Uint32Array.of(us, launches), itemWords({ ...small, ...item })) === 1;
/** The budget that is spent once a launch was let through. */
export const spentAfter = (rules: Rules, seen: Partial<GateView>, us: number) =>
  Number(
    spentAfterOf(settings(rules), viewWords({ ...quiet, ...seen }), itemWords({ ...small, us })),
  );
/** When the launch after this one is due. */
export const dueAfter = (rules: Rules, dueNs: number, nowNs: number) =>
  Number(dueAfterOf(settings(rules), dueNs, nowNs));
/** Whether a stream has room for another launch behind the hold word. */
export const hasRoom = (rules: Rules, launches: number, ns: number) =>
  hasRoomOf(settings(rules), launches, ns) === 1;

const anyU32 = fc.nat({ max: 0xffffffff });
export const anySettings: fc.Arbitrary<Rules> = fc.record(
  Object.fromEntries(ruleNames.map((name) => [name, anyU32])),
);
export const anyView: fc.Arbitrary<GateView> = fc.record({
  registered: fc.boolean(),
  active: fc.boolean(),
  highClass: fc.nat({ max: 2 }),
  idleUs: fc.nat(),
  myTurn: fc.boolean(),
  heldUs: fc.nat(),
  trickledUs: fc.nat(),
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
  us: fc.nat(),
  known: fc.boolean(),
  kernelClass: fc.nat({ max: 2 }),
  sms: fc.nat({ max: 200 }),
  copy: fc.boolean(),
});
