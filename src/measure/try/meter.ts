// It is a policy with the parameters of the arrangement under measurement: the agent shows it which
// bursts have ended. So both jobs are measured the same way in every arrangement.
import type { Agent } from "#agent";
import { millis } from "#core";
import type { Look, Memory, Policy } from "#policy";
import { type Block, blockOfHistogram, countOf } from "./samples.ts";

interface Slice {
  readonly fromNs: number;
  readonly toNs: number;
  readonly bursts: Block;
}

export interface Work {
  readonly atNs: number;
  readonly launches: number;
  readonly gpuSeconds: number;
  /** Products given to cuBLAS in parts add launches that the training has not made. */
  readonly dividedProducts: number;
}

/** A second, so that long requests end in it, too. */
const BUSY_LOOKS = 4;

const nothing: Memory = { level: 0, pausedUntilMs: undefined, clients: new Map() };

/** Its time stands still while another policy is in force. */
export interface Learned {
  readonly memory: Memory | undefined;
  readonly forMs: number;
  readonly bursts: number;
  readonly levelSinceMs: number;
}

const unlearned: Learned = { memory: undefined, forMs: 0, bursts: 0, levelSinceMs: 0 };

export class Meter {
  #policy: Policy;
  /** Bursts that ended since the last sample began under other parameters. */
  #isNew = true;
  #isInForce = false;
  readonly #learned = new Map<string, Learned>();
  #slices: Slice[] = [];
  #lastNs: number | undefined;

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  put(policy: Policy): void {
    if (policy.name === this.#policy.name) return;
    this.#policy = policy;
    this.#isNew = true;
    this.#isInForce = false;
  }

  get isInForce(): boolean {
    return this.#isInForce;
  }

  /** undefined if no burst ended lately. Concurrent bursts count several times. */
  get busyShare(): number | undefined {
    const last = this.#slices.slice(-BUSY_LOOKS);
    const ended = last.flatMap(({ bursts }) => bursts);
    const [from, to] = [last.at(0)?.fromNs ?? 0, last.at(-1)?.toNs ?? 0];
    if (ended.length === 0 || to <= from) return undefined;
    return (ended.reduce((sum, [one, count]) => sum + one * count, 0) * 1e6) / (to - from);
  }

  get learned(): Learned {
    return this.#learned.get(this.#policy.name) ?? unlearned;
  }

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

  /** Forgets all bursts before `toNs`. */
  takeBursts(fromNs: number, toNs: number): readonly Block[] {
    const within = this.#slices.filter((one) => one.fromNs >= fromNs && one.toNs <= toNs);
    this.#slices = this.#slices.filter(
      (one, i, all) => i >= all.length - BUSY_LOOKS || one.fromNs >= toNs,
    );
    return within.map(({ bursts }) => bursts);
  }
}

export const leavesGaps = ({ memory }: Learned): boolean =>
  [...(memory?.clients.values() ?? [])].some(({ gaps }) => gaps === true);

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

export const submittedOf = (agent: Agent): number =>
  agent
    .status()
    .gpus.flatMap(({ bestEffort }) => bestEffort)
    .reduce((sum, { submittedSeconds }) => sum + submittedSeconds, 0);
