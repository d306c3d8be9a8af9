// Work normally ends with its block; in a preemptible kernel the worker's next block inherits it.
// Where the variant can end it, PTX to add is returned; otherwise the kernel is refused.

import {
  type Affine,
  addressOf,
  affine,
  constantValue,
  type Definitions,
  definitions,
  isSame,
} from "../analysis/addresses.ts";
import { type Flow, postDominators } from "../analysis/control-flow.ts";
import type { Refuse } from "../analysis/reasons.ts";
import { findVariable, type Scope } from "../syntax/scopes.ts";
import type { Instruction, Operation, Predicate, Variable } from "../syntax/syntax.ts";
import { electsInFirstWarp } from "./first-warp.ts";

const groups = ["copies", "bulk copies", "wgmma"] as const;
type Group = (typeof groups)[number];

const openBit = (group: Group) => 1 << (2 * groups.indexOf(group));
const committedBit = (group: Group) => 2 << (2 * groups.indexOf(group));

export interface Ending {
  /** Each thread executes it when it is done with the block. */
  readonly each: string;
  /** One thread ends these when all threads are done. */
  readonly once: readonly EndedBarrier[];
  readonly phases: ExpectedPhases | undefined;
}

export interface ExpectedPhases {
  /** The mbarriers lie in `bytes` bytes of this variable in shared memory, from `offset` on. */
  readonly name: string;
  readonly offset: number;
  readonly bytes: number;
  /** Copies are expected at these places of the source. */
  readonly at: ReadonlyMap<number, Expecting>;
  /** Threads arrive at such an mbarrier here, or may do so, and expect no copies. */
  readonly arrivals: ReadonlySet<number>;
}

/** `apart`: by an instruction that does not arrive, so no state of the phase is returned. */
export type Expecting = "arriving" | "apart";

export interface EndedBarrier {
  /** Its address is an offset in a variable in shared memory. */
  readonly name: string;
  readonly offset: number;
  /** Where in the source it is initialised, if that does not happen in each block. */
  readonly sometimes: readonly number[];
}

const waits: Readonly<Partial<Record<Group, string>>> = {
  copies: "cp.async.wait_all;",
  "bulk copies": "cp.async.bulk.wait_group 0;",
};

export function endOutstanding(flow: Flow, scope: Scope, refuse: Refuse): Ending {
  if (![...flow.operations].some(goesOn)) return { each: "", once: [], phases: undefined };
  const barriers = liveBarriers(flow, refuse);
  const phases = barriers.ended ? undefined : phasesToAwait(flow, scope, barriers, refuse);
  for (const one of flow.instructions)
    if (isAsynchronousStore(one.operation))
      refuse("async-outstanding", one, `${one.operation.text} completes on an mbarrier`);
  const atEnd = pendingAtExit(flow);
  const each: string[] = [];
  for (const group of groups) {
    if ((atEnd & (openBit(group) | committedBit(group))) === 0) continue;
    const wait = waits[group];
    const first = flow.instructions.find((one) => opens(one) === group);
    if (wait !== undefined) each.push(wait);
    else if (first !== undefined)
      refuse(
        "async-outstanding",
        first,
        `${first.operation.text} may be under way at an exit: no wait for all ${group} on each path there`,
      );
  }
  // This block's writes to shared memory come before bulk copies of the next block.
  if (flow.instructions.some(isBulk)) each.push("fence.proxy.async.shared::cta;");
  return { each: each.join(" "), once: barriers.added, phases };
}

const goesOn = ({ opcode, modifiers }: Operation) =>
  opcode === "cp" || opcode === "wgmma" || opcode === "mbarrier" || modifiers.includes("async");

const isBulk = ({ operation }: Instruction) =>
  operation.opcode === "cp" && operation.modifiers.includes("bulk");

const completesOnBarrier = ({ operation: { opcode, modifiers } }: Instruction) =>
  opcode === "cp" &&
  modifiers.includes("bulk") &&
  !modifiers.includes("prefetch") &&
  modifiers.some((one) => one.startsWith("mbarrier"));

const isAsynchronousStore = ({ opcode, modifiers }: Operation) =>
  (opcode === "st" || opcode === "red") && modifiers.includes("async");

const MAX_BYTES = 448;

/**
 * A program that invalidates each mbarrier has waited for its copies. Otherwise the variant waits
 * for each phase with copies, by the state that their announcement returns, or by its parity.
 */
function phasesToAwait(
  flow: Flow,
  scope: Scope,
  { added, known }: LiveBarriers,
  refuse: Refuse,
): ExpectedPhases | undefined {
  const copies = flow.instructions.filter(completesOnBarrier);
  if (copies.length === 0) return undefined;
  const expects = flow.instructions.filter(({ operation: { modifiers } }) =>
    modifiers.includes("expect_tx"),
  );
  const [first] = added;
  const offsets = added.map(({ offset }) => offset);
  const offset = Math.min(...offsets);
  const bytes = Math.max(...offsets) + 8 - offset;
  const isClear =
    known &&
    first !== undefined &&
    added.every(({ name }) => name === first.name) &&
    bytes <= MAX_BYTES &&
    expects.length > 0;
  const at = new Map(expects.map((one) => [one.at, expecting(one, scope)]));
  if (isClear && hasNone(at)) {
    const arrivals = arrivalsAtThem(flow, scope, expects);
    return { name: first.name, offset, bytes, at, arrivals };
  }
  for (const one of copies)
    refuse("async-outstanding", one, `${one.operation.text} completes on an mbarrier`);
  return undefined;
}

function arrivalsAtThem(
  flow: Flow,
  scope: Scope,
  expects: readonly Instruction[],
): ReadonlySet<number> {
  const known = definitions(flow);
  const placeOf = (one: Instruction) =>
    namedPlace(
      addressOf(
        one.operands.find(({ kind }) => kind === "memory"),
        known,
      ),
    );
  const places = expects.map(placeOf);
  const found = new Set<number>();
  for (const one of flow.instructions) {
    const { opcode, modifiers } = one.operation;
    if (opcode !== "mbarrier" || modifiers[0] !== "arrive" || modifiers.includes("expect_tx"))
      continue;
    const place = placeOf(one);
    const isOther =
      place !== undefined &&
      places.every((other) => other !== undefined && other.offset !== place.offset);
    if (!isOther && expecting(one, scope) !== undefined) found.add(one.at);
  }
  return found;
}

const hasNone = (
  at: ReadonlyMap<number, Expecting | undefined>,
): at is ReadonlyMap<number, Expecting> => [...at.values()].every((one) => one !== undefined);

/** The mbarrier must have an address of 32 bits in the block's own memory. */
function expecting(
  { operation: { opcode, modifiers }, operands }: Instruction,
  scope: Scope,
): Expecting | undefined {
  const arrives = modifiers[0] === "arrive";
  const place = operands[arrives ? 1 : 0];
  const isClear =
    opcode === "mbarrier" &&
    (arrives || modifiers[0] === "expect_tx") &&
    modifiers.some((one) => one === "shared" || one === "shared::cta") &&
    (!arrives || operands[0]?.kind === "name") &&
    place?.kind === "memory" &&
    place.base.kind === "name" &&
    isNarrow(findVariable(scope, place.base.name)?.variable);
  return isClear ? (arrives ? "arriving" : "apart") : undefined;
}

const isNarrow = (base: Variable | undefined) =>
  base !== undefined &&
  (base.space === "shared" || (base.space === "reg" && /32$/.test(base.type)));

function opens({ operation }: Instruction): Group | undefined {
  const { opcode, modifiers } = operation;
  if (opcode === "wgmma") return modifiers[0] === "mma_async" ? "wgmma" : undefined;
  if (opcode !== "cp") return undefined;
  if (modifiers.includes("bulk"))
    return modifiers.includes("bulk_group") ? "bulk copies" : undefined;
  return modifiers[0] === "async" && (modifiers[1] === "ca" || modifiers[1] === "cg")
    ? "copies"
    : undefined;
}

function commits({ operation }: Instruction): Group | undefined {
  const { opcode, modifiers } = operation;
  if (!modifiers.includes("commit_group")) return undefined;
  if (opcode === "wgmma") return "wgmma";
  return modifiers.includes("bulk") ? "bulk copies" : "copies";
}

function after(pending: number, one: Instruction): number {
  const opened = opens(one);
  if (opened !== undefined) return pending | openBit(opened);
  const { opcode, modifiers } = one.operation;
  if (opcode !== "cp" && opcode !== "wgmma") return pending;
  const done = commits(one);
  if (done !== undefined) {
    if ((pending & openBit(done)) === 0) return pending;
    // With a predicate the group may stay open for some threads and be committed for others.
    const rest = one.predicate === undefined ? pending & ~openBit(done) : pending;
    return rest | committedBit(done);
  }
  if (one.predicate !== undefined) return pending;
  if (opcode === "cp" && modifiers.includes("wait_all"))
    return pending & ~(openBit("copies") | committedBit("copies"));
  const all = one.operands[0];
  if (!modifiers.includes("wait_group") || all?.kind !== "immediate" || Number(all.text) !== 0)
    return pending;
  if (opcode === "wgmma") return pending & ~committedBit("wgmma");
  return pending & ~committedBit(modifiers.includes("bulk") ? "bulk copies" : "copies");
}

function pendingAtExit(flow: Flow): number {
  const before = new Int32Array(flow.blocks.length).fill(-1);
  let atExit = 0;
  const work = flow.blocks.length > 0 ? [0] : [];
  if (flow.blocks.length > 0) before[0] = 0;
  for (let n = work.pop(); n !== undefined; n = work.pop()) {
    const block = flow.blocks[n];
    if (block === undefined) continue;
    let pending = before[n] ?? 0;
    for (let i = block.first; i < block.end; i += 1) {
      const one = flow.instructions[i];
      if (one !== undefined) pending = after(pending, one);
    }
    if (block.exits) atExit |= pending;
    for (const next of block.successors) {
      const old = before[next] ?? -1;
      const merged = old === -1 ? pending : old | pending;
      if (merged === old) continue;
      before[next] = merged;
      work.push(next);
    }
  }
  return atExit;
}

/**
 * Each init needs an inval of the same address by the same threads on every path, or both are by an
 * elected lane of the first warp. If there is none
 * and the address is a constant, the variant adds it, and notes which blocks came to the init.
 */
function liveBarriers(flow: Flow, refuse: Refuse): LiveBarriers {
  const inits = mbarriers(flow, "init");
  let [ended, all] = [inits.length > 0, inits.length > 0];
  const known = definitions(flow);
  const post = postDominators(flow, true);
  const invals = mbarriers(flow, "inval").map((i) => site(flow, known, i));
  const copiesArrive = flow.instructions.some(
    ({ operation }) => operation.opcode === "cp" && operation.modifiers.includes("mbarrier"),
  );
  const added = new Map<string, Place & { always: boolean; at: number[] }>();
  for (const i of inits) {
    const init = site(flow, known, i);
    const ends = invals.some(
      (inval) =>
        isSame(init.address, inval.address) &&
        (inval.predicate === undefined ||
          isFollowedBy(init.predicate, inval.predicate, flow, known)) &&
        dominates(post, inval.block, init.block),
    );
    const one = flow.instructions[i];
    if (ends || one === undefined) continue;
    ended = false;
    const place = namedPlace(init.address);
    if (place !== undefined && invals.length === 0 && !copiesArrive) {
      const key = `${place.name}+${place.offset}`;
      const before = added.get(key) ?? { always: false, at: [] };
      const always = dominates(post, init.block, 0) && byThreadZero(init.predicate, known);
      added.set(key, { ...place, always: before.always || always, at: [...before.at, one.at] });
    } else {
      all = false;
      refuse("mbarrier-live", one, "no mbarrier.inval of the same address is sure to follow");
    }
  }
  const barriers = [...added.values()].map(({ name, offset, always, at }) => ({
    name,
    offset,
    sometimes: always ? [] : at,
  }));
  const noted = barriers.filter(({ sometimes }) => sometimes.length > 0);
  const first = flow.instructions[inits[0] ?? -1];
  if (noted.length > MAX_NOTED && first !== undefined)
    refuse("mbarrier-live", first, `more than ${MAX_NOTED} mbarriers are not made in each block`);
  return { added: barriers, ended, known: all };
}

/** Each takes a bit of a word. */
const MAX_NOTED = 32;

interface LiveBarriers {
  readonly added: readonly EndedBarrier[];
  /** The program itself invalidates each mbarrier. */
  readonly ended: boolean;
  /** The program or the variant ends each mbarrier of the kernel. */
  readonly known: boolean;
}

/** Every block has a thread with %tid.x 0. */
function byThreadZero(predicate: Predicate | undefined, known: Definitions): boolean {
  if (predicate === undefined) return true;
  const test = known.get(predicate.register);
  if (test?.operation.opcode !== "setp" || test.predicate !== undefined) return false;
  const [, left, right] = test.operands;
  const how = test.operation.modifiers[0];
  const first = left && affine(left, known);
  const isX = first?.constant === 0 && first.terms.size === 1 && first.terms.get("%tid.x") === 1;
  return isX && constantValue(right, known) === 0 && how === (predicate.negated ? "ne" : "eq");
}

interface Place {
  readonly name: string;
  readonly offset: number;
}

function namedPlace(address: Affine | undefined): Place | undefined {
  if (address === undefined || address.terms.size !== 1 || !(address.constant >= 0))
    return undefined;
  const [[name, factor] = ["", 0]] = address.terms;
  return factor === 1 && /^[A-Za-z_$]/.test(name) ? { name, offset: address.constant } : undefined;
}

const mbarriers = (flow: Flow, what: string): number[] =>
  flow.instructions.flatMap((one, i) =>
    one.operation.opcode === "mbarrier" && one.operation.modifiers[0] === what ? [i] : [],
  );

interface Site {
  readonly address: Affine | undefined;
  readonly block: number;
  readonly predicate: Predicate | undefined;
}

function site(flow: Flow, known: Definitions, index: number): Site {
  const one = flow.instructions[index];
  const address = addressOf(one?.operands[0], known);
  const block = flow.blockOf[index] ?? 0;
  if (one?.predicate !== undefined) return { address, block, predicate: one.predicate };
  const entries = flow.blocks.flatMap(({ successors }, n) =>
    successors.includes(block) ? [n] : [],
  );
  const [only] = entries;
  const branch =
    only === undefined ? undefined : flow.instructions[(flow.blocks[only]?.end ?? 0) - 1];
  if (entries.length !== 1 || only === undefined || branch?.predicate === undefined)
    return { address, block, predicate: undefined };
  const taken = only + 1 !== block;
  const { register, negated } = branch.predicate;
  return { address, block: only, predicate: { register, negated: taken ? negated : !negated } };
}

/** Does a thread of the block come to the second if one comes to the first? */
const isFollowedBy = (a: Predicate | undefined, b: Predicate, flow: Flow, known: Definitions) =>
  samePredicate(a, b, known) ||
  (a !== undefined &&
    (byThreadZero(a, known) || electsInFirstWarp(a, flow, known)) &&
    electsInFirstWarp(b, flow, known));

const samePredicate = (a: Predicate | undefined, b: Predicate, known: Definitions) =>
  a !== undefined &&
  a.register === b.register &&
  a.negated === b.negated &&
  known.get(a.register) !== undefined;

function dominates(post: Int32Array, later: number, block: number): boolean {
  for (let at = block; ; ) {
    if (at === later) return true;
    const next = post[at] ?? at;
    if (next === at || next >= post.length - 1) return false;
    at = next;
  }
}
