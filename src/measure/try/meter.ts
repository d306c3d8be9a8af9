// Measures both jobs by the interposer's counters, the same way in every arrangement. It is a policy: the agent asks
// it four times a second and shows it which bursts have ended. Its parameters are those of the arrangement that is
// measured now.
import type { Agent } from "#agent";
import { millis } from "#core";
import type { Look, Memory, Policy } from "#policy";
import { type Block, blockOfHistogram, countOf } from "./samples.ts";

/** The bursts that ended between two samples. */
interface Slice {
  readonly fromNs: number;
  readonly toNs: number;
  readonly bursts: Block;
}

/** The work of a training so far. */
export interface Work {
  readonly atNs: number;
  /** Kernels and graphs that it has launched. */
  readonly launches: number;
  /** The GPU time that they take by themselves, as far as it is known. */
  readonly gpuSeconds: number;
  /** Products that were given to cuBLAS in parts, so that there are more launches than the training has made. */
  readonly dividedProducts: number;
}

/** A second: so that requests which take long end in it, too. */
const BUSY_LOOKS = 4;

const nothing: Memory = { level: 0, pausedUntilMs: undefined, clients: new Map() };

/** A policy's memory, and the amount of evidence in it. Its time stands still while another one is in force. */
export interface Learned {
  readonly memory: Memory | undefined;
  readonly forMs: number;
  readonly bursts: number;
  /** At which of its own times its level changed last. */
  readonly levelSinceMs: number;
}

const unlearned: Learned = { memory: undefined, forMs: 0, bursts: 0, levelSinceMs: 0 };

export class Meter {
  #policy: Policy;
  /** It has come since the last sample, so bursts that ended since then began under other rules. */
  #isNew = true;
  #isInForce = false;
  readonly #learned = new Map<string, Learned>();
  #slices: Slice[] = [];
  #lastNs: number | undefined;

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  /** In force from the agent's next sample. What it has learned before is not forgotten. */
  put(policy: Policy): void {
    if (policy.name === this.#policy.name) return;
    this.#policy = policy;
    this.#isNew = true;
    this.#isInForce = false;
  }

  /** The agent has taken its rules. */
  get isInForce(): boolean {
    return this.#isInForce;
  }

  /** The part of the last samples in which bursts ran, by those that have ended: undefined if none has. Several at once count several times. */
  get busyShare(): number | undefined {
    const last = this.#slices.slice(-BUSY_LOOKS);
    const ended = last.flatMap(({ bursts }) => bursts);
    const [from, to] = [last.at(0)?.fromNs ?? 0, last.at(-1)?.toNs ?? 0];
    if (ended.length === 0 || to <= from) return undefined;
    return (ended.reduce((sum, [one, count]) => sum + one * count, 0) * 1e6) / (to - from);
  }

  /** The memory of the policy in force. */
  get learned(): Learned {
    return this.#learned.get(this.#policy.name) ?? unlearned;
  }

  /** For the agent. */
  readonly asPolicy: Policy = {
    name: "try",
    summary: "the policy of the arrangement that is measured",
    rules: (seen) => {
      this.#isInForce = true;
      return this.#policy.rules(seen, this.learned.memory);
    },
    remember: (look) => {
      const nowNs = look.nowMs * 1e6;
      const bursts = look.high.flatMap(({ ended }) => (ended ? blockOfHistogram(ended) : []));
      if (this.#lastNs !== undefined) {
        this.#slices.push({ fromNs: this.#lastNs, toNs: nowNs, bursts });
        if (!this.#isNew) this.#learn(look, (nowNs - this.#lastNs) / 1e6, countOf([bursts]));
      }
      this.#isNew = false;
      this.#lastNs = nowNs;
      return this.learned.memory ?? nothing;
    },
  };

  #learn(look: Look, spanMs: number, bursts: number): void {
    const was = this.learned;
    const forMs = was.forMs + spanMs;
    const memory = this.#policy.remember?.({ ...look, nowMs: millis(forMs) }, was.memory);
    const isSame = memory?.level === was.memory?.level;
    this.#learned.set(this.#policy.name, {
      memory,
      forMs,
      bursts: was.bursts + bursts,
      levelSinceMs: isSame ? was.levelSinceMs : forMs,
    });
  }

  /** The bursts of the samples that lie within this time, and forgets all that came before. */
  takeBursts(fromNs: number, toNs: number): readonly Block[] {
    const within = this.#slices.filter((one) => one.fromNs >= fromNs && one.toNs <= toNs);
    this.#slices = this.#slices.filter(
      (one, i, all) => i >= all.length - BUSY_LOOKS || one.fromNs >= toNs,
    );
    return within.map(({ bursts }) => bursts);
  }
}

/** A service without an objective leaves the GPU idle in its bursts, so the policy lets best-effort work run there. */
export const leavesGaps = ({ memory }: Learned): boolean =>
  [...(memory?.clients.values() ?? [])].some(({ gaps }) => gaps === true);

/** The work of all best-effort clients together. */
export function workOf(agent: Agent, nowNs: number): Work {
  const clients = agent.status().gpus.flatMap(({ bestEffort }) => bestEffort);
  const sum = (of: (client: (typeof clients)[number]) => number) =>
    clients.reduce((all, client) => all + of(client), 0);
  return {
    atNs: nowNs,
    launches: sum(({ launches, graphs }) => launches + graphs),
    gpuSeconds: sum(({ finishedSeconds }) => finishedSeconds),
    dividedProducts: sum(({ splitProducts }) => splitProducts),
  };
}

/** GPU time that best-effort clients have launched so far, in seconds, finished or not. */
export const submittedOf = (agent: Agent): number =>
  agent
    .status()
    .gpus.flatMap(({ bestEffort }) => bestEffort)
    .reduce((sum, { submittedSeconds }) => sum + submittedSeconds, 0);
