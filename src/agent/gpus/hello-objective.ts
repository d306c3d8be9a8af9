// The objective of a client, as it states it in its Hello or people state it in its place.
import { UserError } from "#core";
import { type Objective, parseObjective, type RequestKind, type RequestLimits } from "#policy";
import type { Hello, View } from "#protocol";
import { printable } from "../system/index.ts";
import type { Client } from "./gpu.ts";

/** The objective of its text; without a readable text, that of its fields. */
export function objectiveIn(hello: View<typeof Hello>): Partial<Objective> {
  const texts = printable(hello.slo).split(" ").filter(Boolean);
  try {
    if (texts.length > 0) return parseObjective(texts);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
  return {
    p99Us: hello.sloP99Us,
    slowdown: hello.sloSlowdownPermille / 1000,
    requests: requestLimitsIn(hello),
  };
}

function requestLimitsIn(hello: View<typeof Hello>): RequestLimits | undefined {
  const said = {
    ttft: hello.sloTtftUs,
    tpot: hello.sloTpotUs,
    itl: hello.sloItlUs,
    e2e: hello.sloE2eUs,
  } satisfies Record<RequestKind, number>;
  const stated = Object.entries(said).filter(([, us]) => us > 0);
  return stated.length > 0 ? Object.fromEntries(stated) : undefined;
}

/** The fields of a client to which people gave an objective as texts. Throws a UserError if they are none. */
export function statedBy(
  statedSlo: readonly string[],
): Pick<Client, "sloP99Us" | "sloSlowdownPermille" | "sloRequests" | "statedSlo"> {
  const { p99Us = 0, slowdown = 0, requests } = parseObjective(statedSlo);
  return {
    statedSlo,
    sloP99Us: Math.round(p99Us),
    sloSlowdownPermille: Math.round(1000 * slowdown),
    sloRequests: requests,
  };
}
