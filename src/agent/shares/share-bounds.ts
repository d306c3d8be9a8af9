import { isBoundable, type Observed, withinShare } from "#policy";
import type { Rules } from "#protocol";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { AskedShare } from "./asked-shares.ts";

export interface ShareBound extends AskedShare {
  /** limits: the rules alone would give more. none: a share can't limit these rules. */
  readonly effect: "limits" | "within" | "none";
}

export type ShareOfPod = (uuid: string, pod: string) => AskedShare | undefined;

type Gpu = Pick<ServedGpu, "uuid" | "clients">;

export class ShareBounds {
  readonly #ofPod: ShareOfPod;
  readonly #last = new WeakMap<Gpu, ShareBound | undefined>();

  constructor(ofPod: ShareOfPod) {
    this.#ofPod = ofPod;
  }

  /** All best-effort clients of a GPU have the same rules, so the smallest share counts. */
  within(rules: Rules, gpu: Gpu, observed: Observed): Rules {
    const given = gpu.clients.flatMap((client) => this.givenTo(gpu, client) ?? []);
    const [least] = given.sort((a, b) => a.share - b.share);
    const bounded = least ? withinShare(rules, least.share, observed) : rules;
    const effect = bounded !== rules ? "limits" : isBoundable(rules, observed) ? "within" : "none";
    this.#last.set(gpu, least && { ...least, effect });
    return bounded;
  }

  of(gpu: Gpu): ShareBound | undefined {
    return this.#last.get(gpu);
  }

  givenTo({ uuid }: Gpu, { class: kind, identity }: Client): AskedShare | undefined {
    const pod = kind === "best-effort" ? identity?.pod : undefined;
    return pod === undefined ? undefined : this.#ofPod(uuid, pod);
  }
}
