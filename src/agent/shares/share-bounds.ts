// The shares that somebody gives to the clients of pods, as a bound on the rules of each GPU.
import { isBoundable, type Observed, withinShare } from "#policy";
import type { Rules } from "#protocol";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { AskedShare } from "./asked-shares.ts";

/** The smallest of its best-effort clients' shares: an upper bound of what they get during requests. */
export interface ShareBound extends AskedShare {
  /** limits: the rules would give more without it. within: they would not. none: they can't be limited by a share. */
  readonly effect: "limits" | "within" | "none";
}

/** The share of a GPU that somebody gives to the best-effort clients of a pod; undefined: nobody does. */
export type ShareOfPod = (uuid: string, pod: string) => AskedShare | undefined;

type Gpu = Pick<ServedGpu, "uuid" | "clients">;

export class ShareBounds {
  readonly #ofPod: ShareOfPod;
  readonly #last = new WeakMap<Gpu, ShareBound | undefined>();

  constructor(ofPod: ShareOfPod) {
    this.#ofPod = ofPod;
  }

  /** The rules are the same for all best-effort clients of a GPU, so the smallest of their shares counts. */
  within(rules: Rules, gpu: Gpu, observed: Observed): Rules {
    const given = gpu.clients.flatMap((client) => this.givenTo(gpu, client) ?? []);
    const [least] = given.sort((a, b) => a.share - b.share);
    const bounded = least ? withinShare(rules, least.share, observed) : rules;
    const effect = bounded !== rules ? "limits" : isBoundable(rules, observed) ? "within" : "none";
    this.#last.set(gpu, least && { ...least, effect });
    return bounded;
  }

  /** The last bound on the parameters of that GPU. */
  of(gpu: Gpu): ShareBound | undefined {
    return this.#last.get(gpu);
  }

  givenTo({ uuid }: Gpu, { class: kind, identity }: Client): AskedShare | undefined {
    const pod = kind === "best-effort" ? identity?.pod : undefined;
    return pod === undefined ? undefined : this.#ofPod(uuid, pod);
  }
}
