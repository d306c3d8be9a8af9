// It connects again after a restart of the runtime or of this process. A container that it could
// not adjust runs without the library, and is named until its pod is gone.
import { setTimeout as wait } from "node:timers/promises";
import type { ClientEdits } from "#client";
import { CLASS_ANNOTATION } from "../labels/names.ts";
import { connectNri, type Plugin } from "./nri/connection.ts";
import { adjustmentOf, hasLibrary, obstacleIn, preloadProblem } from "./nri/injection.ts";
import { type Adjustment, type Container, type Sandbox, STOPPED } from "./nri/wire.ts";
import { asksByName, hasClaims, type VendorClaims } from "./state/claimed.ts";
import type { NodePod } from "./state/objects.ts";

const AGAIN_MS = 1000;
/** The runtime waits 2 s and creates one container at a time: those of a pod wait this together. */
const POD_WITHIN_MS = 500;
const LOOK_EACH_MS = 20;
/** After a wait in vain no container waits for this long: each would keep all others back. */
const IMPATIENT_MS = 10_000;

export interface Missed {
  readonly pod: string;
  readonly container: string;
  readonly because: string;
}

export interface InjectorOptions {
  readonly path: string;
  readonly edits: ClientEdits;
  readonly ready: () => boolean;
  readonly podOf: (uid: string) => NodePod | undefined;
  readonly claims: Pick<VendorClaims, "lookAt" | "knows" | "gives">;
  readonly isExcluded: (namespace: string) => boolean;
  /** It is the end of "… because"; undefined: all is there. */
  readonly lacking: () => string | undefined;
  readonly say: (line: string) => void;
}

export class Injector implements Plugin {
  readonly #options: InjectorOptions;
  /** The key is the pod's UID and name: a container that is created again replaces the last. */
  readonly #missed = new Map<string, Missed & { readonly uid: string }>();
  #problem: string | undefined = "the node part has just started";
  /** The key is the pod's UID; the value is in ms, as of performance.now(). */
  readonly #patience = new Map<string, number>();
  #impatientUntil = Number.NEGATIVE_INFINITY;

  constructor(options: InjectorOptions) {
    this.#options = options;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  get missed(): readonly Missed[] {
    const left: Missed[] = [];
    for (const [key, { uid, ...missed }] of this.#missed) {
      const pod = this.#options.podOf(uid);
      if (pod === undefined) this.#missed.delete(key);
      else if (this.#getsGpu(pod, missed.container) !== false) left.push(missed);
    }
    return left;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { path, ready, say } = this.#options;
    while (!signal.aborted) {
      if (ready()) {
        let isConnected = false;
        const why = await connectNri(path, this, signal, (runtime) => {
          isConnected = true;
          this.#problem = undefined;
          say(`containers of high pods get the library from ${runtime}`);
        }).catch((error: Error) => error.message);
        const problem = isConnected
          ? `the connection to the container runtime has ended (${why}), and is opened again`
          : `the container runtime has no Node Resource Interface at ${path} (${why}); its configuration can enable it`;
        if (this.#problem !== problem && !signal.aborted) say(problem);
        this.#problem = problem;
        // The runtime drops a plugin that answers late; meanwhile its containers lack the library.
        if (isConnected) continue;
      }
      await wait(AGAIN_MS, undefined, { signal }).catch(() => {}); // it was aborted
    }
  }

  synchronize(sandboxes: readonly Sandbox[], containers: readonly Container[]): void {
    const { edits } = this.#options;
    const byId = new Map(sandboxes.map((one) => [one.id, one]));
    this.#missed.clear();
    // If a container was created again, the last one counts.
    for (const container of containers.toSorted((a, b) => a.createdAt - b.createdAt)) {
      const sandbox = byId.get(container.podSandboxId);
      if (sandbox === undefined || container.state === STOPPED || !this.#concerns(sandbox))
        continue;
      if (hasLibrary(container, edits)) this.#missed.delete(keyOf(sandbox, container));
      else
        this.#miss(
          sandbox,
          container,
          preloadProblem(container, edits) ?? "it was created while the node part did not run",
        );
    }
  }

  async create(sandbox: Sandbox, container: Container): Promise<Adjustment | undefined> {
    if (!this.#concerns(sandbox)) return undefined;
    try {
      const pod = await this.#known(sandbox.uid);
      const getsGpu = pod && (await this.#getsGpuInTime(pod, container.name));
      if (getsGpu === false) return undefined;
      const { edits, lacking } = this.#options;
      this.#missed.delete(keyOf(sandbox, container));
      if (hasLibrary(container, edits)) return undefined;
      const adjustment = adjustmentOf(sandbox, container, edits);
      const obstacle =
        pod === undefined
          ? "the API server did not tell the node part of the pod in time"
          : getsGpu === undefined
            ? "the API server did not tell the node part of the pod's claims in time"
            : (preloadProblem(container, edits) ??
              obstacleIn(container, edits, adjustment) ??
              lacking());
      if (obstacle === undefined) return adjustment;
      this.#miss(sandbox, container, obstacle);
    } catch (error) {
      this.#miss(sandbox, container, error instanceof Error ? error.message : String(error));
    }
    return undefined;
  }

  #concerns({ namespace, annotations }: Sandbox): boolean {
    return annotations[CLASS_ANNOTATION] === "high" && !this.#options.isExcluded(namespace);
  }

  async #known(uid: string): Promise<NodePod | undefined> {
    const begun = performance.now();
    const until = this.#patience.get(uid) ?? begun + POD_WITHIN_MS;
    this.#patience.set(uid, until);
    for (;;) {
      const pod = this.#options.podOf(uid);
      const now = performance.now();
      if (pod !== undefined) {
        this.#patience.delete(uid);
        return pod;
      }
      if (now >= until && begun < until) this.#impatientUntil = now + IMPATIENT_MS;
      if (now >= until || now < this.#impatientUntil) break;
      await wait(LOOK_EACH_MS);
    }
    for (const [known, end] of this.#patience)
      if (begun - end > IMPATIENT_MS) this.#patience.delete(known);
    return undefined;
  }

  /** undefined: it has a claim that is not known yet. */
  #getsGpu(pod: NodePod, container: string): boolean | undefined {
    const { claims } = this.#options;
    if (asksByName(pod, container)) return true;
    if (!hasClaims(pod, container)) return false;
    return claims.knows(pod) ? claims.gives(pod, container) : undefined;
  }

  async #getsGpuInTime(pod: NodePod, container: string): Promise<boolean | undefined> {
    const known = this.#getsGpu(pod, container);
    if (known !== undefined || performance.now() < this.#impatientUntil) return known;
    if (!(await this.#options.claims.lookAt(pod, POD_WITHIN_MS)))
      this.#impatientUntil = performance.now() + IMPATIENT_MS;
    return this.#getsGpu(pod, container);
  }

  #miss(sandbox: Sandbox, container: Container, because: string): void {
    const { namespace, name, uid } = sandbox;
    const missed = { uid, pod: `${namespace}/${name}`, container: container.name, because };
    this.#missed.set(keyOf(sandbox, container), missed);
    this.#options.say(missedSentence(missed));
  }
}

const keyOf = ({ uid }: Sandbox, { name }: Container): string => `${uid}/${name}`;

export const missedSentence = ({ pod, container, because }: Missed): string =>
  `The container ${container} of ${pod} runs without Cotenant's library, because ${because}.`;
