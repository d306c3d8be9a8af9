// What the interposer sees of both jobs, the same way in every arrangement. It is a policy: the agent asks it four times
// a second and shows it which bursts have ended. Its rules are those of the arrangement that is measured now.
import type { Agent } from "#agent";
import type { Memory, Policy } from "#policy";
import { type Block, blockOfHistogram } from "./samples.ts";

/** The bursts that ended between two looks. */
interface Slice {
  readonly fromNs: number;
  readonly toNs: number;
  readonly bursts: Block;
}

/** What a training has done so far. */
export interface Work {
  readonly atNs: number;
  /** Kernels and graphs that it has launched. */
  readonly launches: number;
  /** The GPU time that they take by themselves, as far as it is known. */
  readonly gpuSeconds: number;
  /** Products that were given to cuBLAS in parts, so that there are more launches than the training has made. */
  readonly dividedProducts: number;
}

const nothing: Memory = { level: 0, pausedUntilMs: undefined, clients: new Map() };

export class Meter {
  /** In force from the agent's next look. */
  policy: Policy;
  #slices: Slice[] = [];
  #lastNs = 0;

  constructor(policy: Policy) {
    this.policy = policy;
  }

  /** For the agent. */
  readonly asPolicy: Policy = {
    name: "try",
    summary: "the policy of the arrangement that is measured",
    rules: (seen) => this.policy.rules(seen),
    remember: ({ nowMs, high }) => {
      const nowNs = nowMs * 1e6;
      const bursts = high.flatMap(({ ended }) => (ended ? blockOfHistogram(ended) : []));
      if (this.#lastNs > 0) this.#slices.push({ fromNs: this.#lastNs, toNs: nowNs, bursts });
      this.#lastNs = nowNs;
      return nothing;
    },
  };

  /** The bursts of the looks that lie within this time, and forgets all that came before. */
  takeBursts(fromNs: number, toNs: number): readonly Block[] {
    const within = this.#slices.filter((one) => one.fromNs >= fromNs && one.toNs <= toNs);
    this.#slices = this.#slices.filter((one) => one.fromNs >= toNs);
    return within.map(({ bursts }) => bursts);
  }
}

/** Of all best-effort clients together. */
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
