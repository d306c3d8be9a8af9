// Slices come in a period that follows from an engine's steps and requests (requests/pacing.ts).
import { us } from "#core";
import type { Rules } from "#protocol";
import type { Look, Observed } from "../contract/policy.ts";
import { factorAt, isPace, type Pace, paceOf, periodNow, withSample } from "../requests/pacing.ts";
import { nothingOfRequests } from "../requests/requests.ts";
import { nextDither } from "../requests/slice-cost.ts";
import { SLICE_US, timeShare } from "../requests/slices.ts";
import type { ClientMemory } from "./client.ts";
import { breaks, type LadderMemory, mapClients, withVerdict } from "./memory.ts";

const sliceUs = (isolated: boolean): number => (isolated ? SLICE_US.isolated : SLICE_US.mps);
const UP_PER_S = 1.15;
const MAX_PASSED_MS = 1000;
const MIN_SHARE = 0.03;
const AGE_BY_LAUNCHES = 4;
const AGE_BY_TIME = 1.3;

export function withPacing(seen: Look, was: LadderMemory, passedMs: number): LadderMemory {
  const { isolated, nowMs } = seen;
  const byId = new Map(seen.high.map((client) => [client.id, client]));
  const clients = [...was.clients].map(([id, client]): [string, ClientMemory] => {
    const { steps, requests } = byId.get(id) ?? {};
    if (!steps) return [id, client];
    const around = { nowMs, passedMs, pace: was.pace, sliceUs: sliceUs(isolated), isolated };
    const limits = client.objective?.requests ?? {};
    return [id, { ...client, pacing: withSample(client.pacing, steps, limits, requests, around) }];
  });
  return { ...was, clients: new Map(clients) };
}

export function pace(seen: Look, was: LadderMemory): LadderMemory {
  const { isolated, nowMs } = seen;
  const lengthUs = sliceUs(isolated);
  const around = { nowMs, sliceUs: lengthUs, isolated };
  const found = new Map(
    [...was.clients.values()].map((client) => {
      const limits = client.objective?.requests ?? {};
      return [client, client.unheard ? undefined : paceOf(client.pacing, limits, around)];
    }),
  );
  const told = mapClients(was, (client) => {
    const own = found.get(client);
    const judged = breaks(client)
      ? { ...withVerdict(client, was.level), requests: nothingOfRequests }
      : client;
    const mostStretch = isPace(own) ? factorAt(client.pacing, own, around) : 1;
    const stepless = client.pacing.sinceMs === undefined;
    return { ...judged, tightest: own?.limitedBy, mostStretch: own && mostStretch, stepless };
  });
  const paces = [...found.values()];
  const next = paces.every(isPace) ? slowest(paces) : undefined;
  const everyUs = next && Math.max(next.everyUs, soonest(was, lengthUs, nowMs));
  if (!next || everyUs === undefined || lengthUs / everyUs < MIN_SHARE)
    return { ...told, pace: undefined, level: 0, pacedAtMs: nowMs };
  const level = Math.round((100 * lengthUs) / everyUs);
  const stepsUs = [...was.clients.values()].map(
    ({ pacing, mostStretch = 1 }) => mostStretch * pacing.cost.usualUs,
  );
  const dither = nextDither(was.pace?.dither, stepsUs, nowMs);
  return { ...told, pace: { ...next, everyUs, dither }, level, pacedAtMs: nowMs };
}

/** One parameter table holds for all, so the most careful pace does. */
const slowest = (paces: readonly Pace[]): Pace =>
  paces.reduce((one, other) => ({
    everyUs: Math.max(one.everyUs, other.everyUs),
    inPrefill: one.inPrefill && other.inPrefill,
    decodeUs: Math.max(one.decodeUs, other.decodeUs),
    limitedBy: one.everyUs > other.everyUs ? one.limitedBy : other.limitedBy,
  }));

function soonest(
  { pace: before, pacedAtMs }: LadderMemory,
  lengthUs: number,
  nowMs: number,
): number {
  const passedMs = Math.min(MAX_PASSED_MS, Math.max(0, nowMs - pacedAtMs));
  return (before?.everyUs ?? lengthUs / (2 * MIN_SHARE)) / UP_PER_S ** (passedMs / 1000);
}

export function paceRules(pace: Pace, { high, isolated }: Observed): Partial<Rules> {
  const { inPrefill, decodeUs } = pace;
  const share = timeShare(sliceUs(isolated) / periodNow(pace), isolated);
  return {
    ...share,
    ...(inPrefill ? inAllSteps : inDecodeSteps(decodeUs, share.coRunSliceUs, high)),
  };
}

const inAllSteps = { coRunUntilUs: 0, coRunUntilLaunches: 0 } as const;

/** Slices end where a step gets as old, or has launched as much, as no decode step does. */
export function inDecodeSteps(decodeUs: number, sliceUs: number, high: Observed["high"]) {
  const rare = high.flatMap(({ rareBursts }) => rareBursts?.afterLaunches ?? []);
  const byLaunches = rare.length > 0 && rare.length === high.length;
  const factor = byLaunches ? AGE_BY_LAUNCHES : AGE_BY_TIME;
  return {
    coRunUntilUs: us(Math.round(factor * decodeUs + sliceUs)),
    coRunUntilLaunches: byLaunches ? Math.max(...rare) : 0,
  };
}
