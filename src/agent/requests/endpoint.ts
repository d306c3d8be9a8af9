// The agent may be root and the address is the client's (`run --slo-metrics`), so only loopback is
// read, no redirection is followed, and an answer may be neither long nor late.
import { errors, readHistograms, readTotal, UserError } from "#core";
import { waitingGauges } from "#engines";
import type { RequestLimits, RequestSample } from "#policy";
import { Interval } from "./interval.ts";
import { allHistograms, type Histograms, type Judged, judge, missingKinds } from "./judge.ts";
import { type Certainties, isBoundBySteps, whyNotMeasurable, withCertainty } from "./measurable.ts";

const ANSWERS_WITHIN_MS = 900;
const LONGEST_URL = 159;
/** An engine with a hundred series has 200 kB. */
const MAX_BYTES = 4 << 20;
/** After this time without an answer, or after the next is due, the requests are unknown. */
const UNHEARD_AFTER_NS = { usual: 3e9, due: 2e9 } as const;

export interface RequestsStatus {
  readonly url: string;
  readonly unheard: string | undefined;
  readonly slow?: { readonly everyMs: number; readonly answerMs: number } | undefined;
  readonly kinds: readonly Omit<Judged, "firstBoundUs" | "unsure">[];
}

/** Throws a UserError unless this is an http:// address on loopback. */
export function parseMetricsUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw errors.badQuantity(text, "an address such as http://127.0.0.1:8000/metrics");
  }
  const { protocol, hostname, username } = url;
  const loopback = /^(127(\.\d+){3}|\[::1\]|localhost)$/.test(hostname);
  if (protocol !== "http:" || !loopback || username !== "")
    throw errors.badQuantity(
      text,
      "an http:// address on loopback, such as http://127.0.0.1:8000/metrics",
    );
  if (url.href.length > LONGEST_URL)
    throw errors.badQuantity(text, `an address of at most ${LONGEST_URL} characters`);
  return url.href;
}

export class Endpoint {
  readonly #url: string;
  readonly #limits: RequestLimits;
  readonly #now: () => number;
  readonly #answersWithinMs: number;
  #last: { readonly at: number; readonly histograms: Histograms } | undefined;
  #because = "it has not answered yet";
  #waiting: readonly Judged[] = [];
  #shown: readonly Judged[] = [];
  #certainties: Certainties = {};
  #queued: number | undefined;
  #stepsSeen = false;
  #asking = false;
  #askedAt = Number.NEGATIVE_INFINITY;
  readonly #interval = new Interval();

  constructor(
    url: string,
    limits: RequestLimits,
    now: () => number,
    answersWithinMs = ANSWERS_WITHIN_MS,
  ) {
    this.#answersWithinMs = answersWithinMs;
    this.#url = url;
    this.#limits = limits;
    this.#now = now;
  }

  async ask(): Promise<void> {
    if (this.#asking || this.#now() - this.#askedAt < this.#interval.ns) return;
    this.#asking = true;
    this.#askedAt = this.#now();
    try {
      const text = await this.#text().finally(() =>
        this.#interval.answered(this.#now() - this.#askedAt),
      );
      this.#queued = readTotal(text, waitingGauges);
      this.#take(readHistograms(text, allHistograms));
    } catch (error) {
      this.#because = reasonOf(error, this.#answersWithinMs);
    } finally {
      this.#asking = false;
    }
  }

  /**
   * Gives requests since the last call; undefined if they can't be judged. `stepsSeen`: steps bound
   * the values per token, so these count as late only where the histogram is sure.
   */
  take(stepsSeen = false): RequestSample {
    this.#stepsSeen = stepsSeen;
    if (this.#unheard !== undefined) {
      this.#waiting = [];
      return undefined;
    }
    const seen = Object.fromEntries(
      this.#waiting.map(({ kind, counts, unsure }) => {
        const above = counts.above - (isBoundBySteps(kind, stepsSeen) ? unsure : 0);
        return [kind, { ...counts, above }];
      }),
    );
    const waiting = this.#queued;
    this.#waiting = [];
    this.#queued = undefined;
    return { ...seen, waiting };
  }

  get status(): RequestsStatus {
    const { slow } = this.#interval;
    return {
      url: this.#url,
      unheard: this.#unheard,
      slow: slow && { everyMs: slow.everyNs / 1e6, answerMs: slow.answerNs / 1e6 },
      kinds: this.#shown,
    };
  }

  get #unheard(): string | undefined {
    const { usual, due } = UNHEARD_AFTER_NS;
    const afterNs = Math.max(usual, this.#interval.ns + due);
    const heard = this.#last && this.#now() - this.#last.at < afterNs;
    return heard ? whyNotMeasurable(this.#certainties, this.#stepsSeen) : this.#because;
  }

  #take(histograms: Histograms): void {
    const [missing] = missingKinds(this.#limits, histograms);
    if (missing !== undefined)
      throw new UserError(
        "NO_HISTOGRAM",
        `it has no histogram of ${missing}, which Cotenant's Python package beside vLLM or SGLang reports`,
      );
    // Values from before the first answer are not about the present.
    const found = this.#last ? judge(this.#limits, this.#last.histograms, histograms) : [];
    const at = this.#now();
    if (this.#last) this.#interval.counted(found, at - this.#last.at);
    this.#last = { at, histograms };
    this.#waiting = sumOf(this.#waiting, found);
    this.#certainties = withCertainty(this.#certainties, found);
    // The time between tokens is reported without a limit, too.
    const told = found.filter(({ counts, limitUs }) => counts.values > 0 && limitUs < Infinity);
    const others = this.#shown.filter(({ kind }) => told.every((one) => one.kind !== kind));
    this.#shown = [...others, ...told].toSorted((a, b) => a.kind.localeCompare(b.kind));
  }

  async #text(): Promise<string> {
    const response = await fetch(parseMetricsUrl(this.#url), {
      redirect: "error",
      signal: AbortSignal.timeout(this.#answersWithinMs),
      // Over loopback, packing an answer costs more than sending it.
      headers: { accept: "text/plain", "accept-encoding": "identity" },
    });
    if (!response.ok)
      throw new UserError("NO_METRICS", `it answers with HTTP status ${response.status}`);
    return limitedText(response);
  }
}

async function limitedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > MAX_BYTES)
      throw new UserError("LONG_METRICS", `its answer is longer than ${MAX_BYTES >> 20} MiB`);
  }
  return text;
}

function reasonOf(error: unknown, withinMs: number): string {
  if (error instanceof UserError) return error.message;
  if (error instanceof DOMException && error.name === "TimeoutError")
    return `it does not answer within ${withinMs} ms`;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return `it can't be read: ${errors.whyOf(cause)}`;
}

const sumOf = (was: readonly Judged[], more: readonly Judged[]): readonly Judged[] =>
  more.map((one) => {
    const earlier = was.find(({ kind }) => kind === one.kind);
    if (!earlier) return one;
    const before = earlier.counts;
    const { values, above, near, sumUs = Number.NaN, each } = one.counts;
    const sum = sumUs + (before.sumUs ?? Number.NaN);
    return {
      ...one,
      unsure: one.unsure + earlier.unsure,
      counts: {
        values: values + before.values,
        above: above + before.above,
        near: near + before.near,
        sumUs: Number.isNaN(sum) ? undefined : sum,
        each: each && before.each && [...before.each, ...each],
      },
    };
  });
