// Made from this file are the struct Settings (layout.ts), the C++ reader that forces values into
// their ranges (emit-rules.ts), the options of `up --set` and a table in the guide to policies.
import type { Micros, Nanos } from "#core";
import { flag, limit, words } from "./rule.ts";

export const whenActive = {
  wait: 0,
  allowOpposite: 1, // they need few SMs and end soon
  allow: 2,
  allowShort: 3, // as above, and of any class
  allowFitting: 4, // they end with the latest high kernel, on other SMs
  finishIteration: 5, // no other iteration begins
} as const;

export const submission = {
  deep: 0, // the GPU waits for a pause flag
  launch: 1, // the CPU waits at the gate
} as const;

export const graphGates = {
  none: 0,
  nodes: 1,
  parts: 2, // they are launched one after the other
} as const;

/** Defaults are those of `strict` before any burst: an interposer without an agent takes them. */
export const rules = {
  protect: flag(1, "best-effort work waits for high clients; 0: nobody waits"),
  isolated: flag(
    1,
    "contexts are time-sliced (no MPS), so only one best-effort client may run at a time",
  ),
  paused: flag(
    0,
    "best-effort work is paused whatever the other parameters allow, except for minimum progress",
  ),
  whenActive: words(whenActive, "wait", "what best-effort work may do while a request is active"),
  smLimit: limit({
    unit: "SMs",
    usual: 0,
    doc: "`allowOpposite` and `allowShort`: a kernel must need fewer SMs than this",
  }),
  maxKernelUs: limit({
    unit: "us",
    usual: 0,
    doc: "`allowOpposite` and `allowShort`: a kernel must be expected to take no longer",
  }),
  chunkUs: limit({
    unit: "us",
    least: 20,
    most: 20_000,
    usual: 200,
    doc: "the length of a chunk: released best-effort work that a new request may find before it",
  }),
  chunkLaunches: limit({
    unit: "launches",
    least: 1,
    most: 128,
    usual: 16,
    doc: "a chunk holds at most this many launches",
  }),
  activeAheadUs: limit({
    unit: "us",
    most: 20_000,
    usual: 0,
    doc: "released best-effort work at most, while a request is active and the kernel is allowed to co-run",
  }),
  submitUs: limit({
    unit: "us",
    least: 100,
    most: 100_000,
    usual: 10_000,
    doc: "deep submission: work queued behind the pause flag at most",
  }),
  submitLaunches: limit({
    unit: "launches",
    least: 1,
    // A driver queue holds 1,020 entries behind a wait, some of them preemption points (H200).
    most: 800,
    usual: 700,
    doc: "deep submission: launches queued behind the pause flag at most",
  }),
  kernelsOut: limit({
    unit: "kernels",
    usual: 0,
    doc: "launched best-effort kernels that have not ended, at most",
    zero: "no limit",
  }),
  resumeDelayUs: limit({
    unit: "us",
    most: 100_000,
    // Queued requests follow each other within tens of us: best-effort work in between would cost
    // each a chunk and two switches of context, or a long kernel.
    usual: 150,
    doc: "how long best-effort work stays paused after the last request ended",
  }),
  quantumUs: limit({
    unit: "us",
    least: 500,
    most: 1_000_000,
    usual: 5_000,
    doc: "how long one best-effort client keeps the GPU when several want it",
  }),
  progressAfterUs: limit({
    unit: "us",
    least: 1_000,
    most: 1_000_000,
    usual: 250_000,
    doc: "in a pause longer than this, best-effort work makes minimum progress",
  }),
  progressEveryUs: limit({
    unit: "us",
    least: 1_000,
    most: 1_000_000,
    usual: 10_000,
    doc: "minimum progress: one chunk passes in each period of this length",
  }),
  unknownUs: limit({
    unit: "us",
    least: 1,
    most: 100_000,
    usual: 5_000,
    doc: "the expected duration of a kernel that was never seen before",
  }),
  submission: words(submission, "deep", "how best-effort work is queued"),
  sampleEvery: limit({
    unit: "launches",
    least: 1,
    most: 1_000_000,
    usual: 64,
    doc: "once a kernel is known, one launch in this many is timed",
  }),
  copyPieceBytes: limit({
    unit: "bytes",
    least: 64 << 10,
    most: 1 << 30,
    usual: 2 << 20,
    doc: "the size of the pieces into which best-effort copies are cut",
  }),
  wantKernels: flag(0, "high clients publish class, SMs and duration of their latest kernel"),
  budgetUs: limit({
    unit: "us",
    usual: 0,
    doc: "launch by launch: once launched work exceeds this, no more until all has ended; replaces `chunkUs`",
    zero: "no budget",
  }),
  launchEveryNs: limit({
    unit: "ns",
    most: 10_000_000,
    usual: 0,
    doc: "launch by launch: the least average time between launches",
    zero: "no limit",
  }),
  coRunEveryUs: limit({
    unit: "us",
    // It takes the place of minimum progress: a high client may wait for this work's next step.
    most: 1_000_000,
    usual: 0,
    doc: "one chunk in each period of this length may pass while a request is active",
    zero: "none",
  }),
  preemptUs: limit({
    unit: "us",
    // Shorter kernels gain nothing that a chunk would not give (decision 0005).
    usual: 200,
    doc: "kernels expected to take longer run in a variant that can stop inside, if their PTX is known",
    zero: "none",
  }),
  graphGates: words(
    graphGates,
    // Beside nodes that wait, requests took twice as long in mode isolated, and no shorter under
    // MPS (decision 0005).
    "parts",
    "how best-effort graphs stop inside",
  ),
  splitProductsUs: limit({
    unit: "us",
    // Parts of this length were measured (decision 0006).
    usual: 200,
    doc: "matrix products expected to take longer are given to cuBLAS in parts of about this length",
    zero: "whole",
  }),
  renewUs: limit({
    unit: "us",
    least: 200,
    usual: 0,
    doc: "isolated: how often released work is paused for a moment, which renews its time slice on the GPU",
    zero: "never",
  }),
  graceUs: limit({
    unit: "us",
    // Requests of seconds are rare. It must be less than the time since the machine started.
    most: 10_000_000,
    usual: 0,
    doc: "grace period: a younger request, on which the program does not block yet, does not pause best-effort work; a program that launches for long leaves the GPU idle at first",
    zero: "a request pauses it from its start",
  }),
  graceLaunches: limit({
    unit: "launches",
    usual: 0,
    doc: "with `graceUs`: a request ends its grace period after this many launches to one stream, so that it pauses best-effort work shortly before its usual end",
    zero: "the grace period ends by age, or when the program blocks",
  }),
  startupTimeoutUs: limit({
    unit: "us",
    least: 20_000,
    // A start-up may hold the GPU for minutes; a request with longer launches is rare.
    usual: 250_000,
    doc: "a high client in which no request ends for this long, and for 4 times its longest request, time-shares with best-effort work",
    zero: "never",
  }),
  coRunSliceUs: limit({
    unit: "us",
    most: 20_000,
    usual: 0,
    doc: "length of the co-running slice in each period of `coRunEveryUs`, chunk after chunk, whether or not chunks passed between requests",
    zero: "one chunk, once requests have paused it for `coRunEveryUs`",
  }),
  coRunUntilUs: limit({
    unit: "us",
    usual: 0,
    doc: "with `coRunSliceUs`: concurrent with an older burst, it passes once a second only. An engine's prefill step is longer than its others",
    zero: "at any age",
  }),
  coRunUntilLaunches: limit({
    unit: "launches",
    usual: 0,
    doc: "with `coRunUntilUs`: a burst with this many launches to one stream counts as that old. An engine replays a graph for a decode step, and launches hundreds of kernels for a prefill step",
    zero: "its age decides",
  }),
} as const;

export type Rules = {
  readonly [K in keyof typeof rules]: K extends `${string}Us`
    ? Micros | 0
    : K extends `${string}Ns`
      ? Nanos | 0
      : number;
};
export type RuleName = keyof Rules;
export const FIRST_RULES = 34; // revision 0 has as many; new ones are appended

export const ruleNames = Object.keys(rules) as readonly RuleName[];

/** `up --set` accepts these with a note, and `status --json` has them, in this version only. */
export const oldRuleNames: Readonly<Record<string, RuleName>> = {
  turnUs: "quantumUs",
  trickleAfterUs: "progressAfterUs",
  trickleEveryUs: "progressEveryUs",
  besideEveryUs: "coRunEveryUs",
  besideUs: "coRunSliceUs",
  besideUntilUs: "coRunUntilUs",
  besideUntilLaunches: "coRunUntilLaunches",
  holdAfterUs: "graceUs",
  holdAfterLaunches: "graceLaunches",
  shareAfterUs: "startupTimeoutUs",
};

export const usualRules = Object.fromEntries(
  Object.entries(rules).map(([name, { usual }]) => [name, usual]),
) as Rules;
