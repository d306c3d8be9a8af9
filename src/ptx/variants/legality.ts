import { type CallGraph, callGraph, hasOperation } from "../analysis/call-graph.ts";
import { controlFlow } from "../analysis/control-flow.ts";
import { parameterBytes, sharedMemory } from "../analysis/memory-sizes.ts";
import { collect, type Reason, type Refuse } from "../analysis/reasons.ts";
import { type Barriers, barriers } from "../endings/barriers.ts";
import { type Ending, endOutstanding } from "../endings/outstanding.ts";
import { positionOf } from "../syntax/errors.ts";
import { functionScope, moduleScope } from "../syntax/scopes.ts";
import type { Func, Module } from "../syntax/syntax.ts";
import { type Target, targetOf } from "../syntax/target.ts";
import type { LookBack } from "../waits/look-back.ts";
import { waits } from "../waits/waits.ts";
import { type Appended, appended, isVariant } from "./appended.ts";
import { blockNumbersIn } from "./block-number.ts";
import { wordsFor } from "./end-barriers.ts";
import { fixedShared, forbidden, forbiddenWhenPersistent } from "./forbidden.ts";
import { withLiveLanes } from "./live-lanes.ts";
import { sharedWordsIn } from "./template.ts";

export interface Verdict {
  readonly legal: boolean;
  readonly reasons: readonly Reason[];
  readonly sharedBytes: number;
}

export interface Preemptible extends Verdict {
  /** The launcher must check that the block's x size is a multiple of 32. */
  readonly wholeWarps: boolean;
  readonly unified: boolean;
}

export interface KernelReport {
  readonly kernel: string;
  readonly line: number;
  readonly slice: Verdict;
  readonly preempt: Preemptible;
}

export function legality(module: Module): readonly KernelReport[] {
  return kernels(module).map((kernel) => {
    const { line } = positionOf(module.source, kernel.at);
    const { verdict } = preemptPlan(kernel, module);
    return {
      kernel: kernel.name,
      line,
      slice: slicePlan(kernel, module).verdict,
      preempt: verdict,
    };
  });
}

export const kernels = (module: Module): readonly Func[] =>
  module.items.filter(
    (one): one is Func =>
      one.kind === "function" && one.entry && one.body !== undefined && !isVariant(one.name),
  );

export interface SlicePlan {
  readonly verdict: Verdict;
  readonly graph: CallGraph;
}

export function slicePlan(kernel: Func, module: Module): SlicePlan {
  const graph = callGraph(kernel, module);
  const { refuse, reasons } = collect(module);
  if (everyVariant(kernel, graph, module, appended.slice, refuse) === "columns")
    refuse("grid-wait", kernel, "blocks wait for others in the order of the grid's columns");
  const [, ...others] = graph.functions;
  const sharedBytes = others.some((one) => blockNumbersIn(one).size > 0)
    ? bytesForWords(kernel, graph, module, appended.slice, refuse)
    : 0;
  return { verdict: { legal: reasons.length === 0, reasons, sharedBytes }, graph };
}

export interface PreemptPlan {
  readonly kernel: Func;
  readonly verdict: Preemptible;
  readonly graph: CallGraph;
  readonly barriers: Barriers;
  readonly ending: Ending;
  readonly lookBack: LookBack | undefined;
}

/** `variant` is what will be added. A unified kernel must satisfy the same conditions. */
export function preemptPlan(
  kernel: Func,
  module: Module,
  variant: Appended = appended.preempt,
): PreemptPlan {
  const plan = planOf(kernel, module, variant);
  if (!plan.verdict.reasons.some(({ code }) => code === "parked-lanes")) return plan;
  const live = withLiveLanes(kernel);
  const other = live === undefined ? plan : planOf(live, module, variant);
  return other.verdict.legal ? other : plan;
}

function planOf(kernel: Func, module: Module, variant: Appended): PreemptPlan {
  const graph = callGraph(kernel, module);
  const { refuse, reasons } = collect(module);
  const lookBack = everyVariant(kernel, graph, module, variant, refuse);
  const target = targetOf(module);
  // The variant uses ld.relaxed, barrier.sync in divergent warps and nanosleep.
  if (target.sm < 70 || target.version < 603)
    refuse("old-target", kernel, `${target.name} is older than sm_70 or PTX 6.3`);
  forbiddenWhenPersistent(graph, refuse);
  const { wholeWarps, used } = checkDivergence(kernel, graph, module, reasons);
  const flow = controlFlow(kernel);
  const ending = endOutstanding(flow, functionScope(kernel, moduleScope(module)), refuse);
  const least = Math.max(variant.wordsBytes, wordsFor(ending, used.arrivals));
  const sharedBytes = bytesForWords(
    kernel,
    graph,
    module,
    { ...variant, wordsBytes: least },
    refuse,
  );
  for (const i of flow.lost) {
    const one = flow.instructions[i];
    if (one !== undefined) refuse("not-understood", one, "where this branch goes is not known");
  }
  const legal = reasons.length === 0;
  const verdict = { legal, reasons, wholeWarps, unified: used.unify, sharedBytes };
  return { kernel, verdict, graph, barriers: used, ending, lookBack };
}

function everyVariant(
  kernel: Func,
  graph: CallGraph,
  module: Module,
  { bytes, suffix, words }: Appended,
  refuse: Refuse,
): LookBack | undefined {
  forbidden(kernel, graph, refuse);
  const lookBack = waits(graph, module, refuse);
  const room = parameterRoom(targetOf(module));
  if (!(parameterBytes(kernel.params) + 8 + bytes <= room))
    refuse("parameter-space", kernel, `its parameters leave less than ${bytes} of ${room} bytes`);
  const scope = moduleScope(module);
  for (const { name } of graph.functions)
    if (scope.functions.has(name + suffix))
      refuse("name-taken", kernel, `there is a ${name + suffix} already`);
  const taken = scope.variables.get(words);
  if (scope.functions.has(words) || (taken && sharedWordsIn(taken.variable) === undefined))
    refuse("name-taken", kernel, `there is a ${words} already, and it is another one`);
  return lookBack;
}

function checkDivergence(kernel: Func, graph: CallGraph, module: Module, reasons: Reason[]) {
  const given = kernel.directives.find(({ name }) => name === ".reqntid");
  const known = given !== undefined && Number.parseInt(given.text, 10) % 32 === 0;
  const first = collect(module);
  const used = barriers(kernel, graph, known, first.refuse);
  const ofWarps = first.reasons.some(
    ({ code }) => code === "parked-lanes" || code === "barrier-arrive",
  );
  if (!known && ofWarps) {
    const better = collect(module);
    const then = barriers(kernel, graph, true, better.refuse);
    if (better.reasons.length < first.reasons.length) {
      reasons.push(...better.reasons);
      return { wholeWarps: true, used: then };
    }
  }
  reasons.push(...first.reasons);
  return { wholeWarps: false, used };
}

/** PTX ISA 9.0, 5.1.6.1, allows 4,096 bytes, and 32,764 since 8.1 on sm_70. */
const parameterRoom = ({ sm, version }: Target) => (sm >= 70 && version >= 801 ? 32_764 : 4_096);

/** PTX ISA: a module with more static shared memory does not load. */
const STATIC_SHARED = 49_152;
/** wgmma and bulk copies need it of tiles, so dynamic memory behind our words must keep it. */
const TILE_ALIGNMENT = 1024;

function bytesForWords(
  kernel: Func,
  graph: CallGraph,
  module: Module,
  { words, wordsBytes }: Appended,
  refuse: Refuse,
): number {
  fixedShared(graph, refuse);
  const { bytes } = sharedMemory(graph, module);
  const aligned = wantAlignment(module) ? Math.max(TILE_ALIGNMENT, wordsBytes) : wordsBytes;
  const more = Math.max(aligned, wordsBefore(module, words));
  if (!(bytes + more <= STATIC_SHARED))
    refuse(
      "shared-memory",
      kernel,
      `${bytes} bytes of static shared memory leave no ${more} of ${STATIC_SHARED}`,
    );
  return more;
}

/** All kernels of the module share the words, so one decides for all. */
function wantAlignment(module: Module): boolean {
  const known = wanted.get(module);
  if (known !== undefined) return known;
  const some = kernels(module).some((kernel) => {
    const graph = callGraph(kernel, module);
    return graph.functions.some(wantsTiles) && sharedMemory(graph, module).dynamic !== undefined;
  });
  wanted.set(module, some);
  return some;
}

const wanted = new WeakMap<Module, boolean>();

function wordsBefore(module: Module, name: string): number {
  const before = moduleScope(module).variables.get(name);
  return (before && sharedWordsIn(before.variable)?.bytes) ?? 0;
}

/** The layout of such tiles depends on their address (swizzling). */
const wantsTiles = (func: Func) =>
  hasOperation(func, ({ opcode, modifiers }) => opcode === "wgmma" || modifiers.includes("bulk"));
