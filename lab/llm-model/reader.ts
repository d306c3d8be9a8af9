// The policy's input about an engine in virtual time: its histograms, read over a network as the agent reads them, or
// each request.
import {
  askEveryNs,
  type Certainties,
  judge,
  MAX_EACH,
  whyNotMeasurable,
  withCertainty,
} from "#agent";
import {
  type LimitsUs,
  NEAR,
  type RequestCounts,
  type RequestKind,
  type RequestLimits,
  type RequestSample,
} from "#policy";
import type { EnginePlant } from "./engine.ts";

/** Reads the plant's histograms as often as the agent does, and tells the policy what came since. */
export class Reader {
  #last:
    | { readonly atMs: number; readonly histograms: ReturnType<EnginePlant["histograms"]> }
    | undefined;
  #dueMs = 0;
  #read: RequestSample = {};
  #certainties: Certainties = {};

  /** The policy's input at a sample, from an answer that was requested a sample earlier. */
  look(plant: EnginePlant, limits: RequestLimits): RequestSample {
    const told = this.#read;
    this.#read = {};
    if (!plant.alive) return undefined;
    const { atMs } = plant;
    if (atMs >= this.#dueMs) {
      const now = plant.histograms();
      const found = this.#last ? judge(limits, this.#last.histograms, now) : [];
      this.#dueMs =
        atMs + (this.#last ? askEveryNs(found, 1e6 * (atMs - this.#last.atMs)) / 1e6 : 0);
      this.#last = { atMs, histograms: now };
      this.#certainties = withCertainty(this.#certainties, found);
      this.#read = {
        ...Object.fromEntries(
          found.map(({ kind, counts }): [RequestKind, RequestCounts] => [kind, counts]),
        ),
        waiting: plant.waiting,
      };
    }
    return whyNotMeasurable(this.#certainties, true) === undefined ? told : undefined;
  }
}

/** The policy's input at a sample if the program reports each request itself. */
export function reportedSince(plant: EnginePlant, limits: LimitsUs): RequestSample {
  if (!plant.alive) return undefined;
  const counts = [...plant.takeValues()].map(([kind, values]): [RequestKind, RequestCounts] => {
    const limitUs = limits[kind] ?? Number.POSITIVE_INFINITY;
    const longer = (thanUs: number) => values.filter((us) => us > thanUs).length;
    const sumUs = values.reduce((sum, us) => sum + us, 0);
    const known = {
      ...{ values: values.length, sumUs },
      ...{ above: longer(limitUs), near: longer(NEAR * limitUs) },
    };
    return [kind, values.length <= MAX_EACH ? { ...known, each: values } : known];
  });
  return Object.fromEntries(counts);
}
