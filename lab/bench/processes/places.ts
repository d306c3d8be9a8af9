// The places in which processes run: plainly on the GPU, under an MPS daemon, or under an agent of Cotenant. A place
// is opened when the first process needs it, and closed at the end. No place changes the GPU's settings.
import { mkdirSync } from "node:fs";
import {
  type Agent,
  type GpuKind,
  type Mode,
  mpsEnvironment,
  type Status,
  startAgent,
  startMps,
  startSoftMps,
} from "#agent";
import { systemClock } from "#core";
import { runnablePolicyNamed } from "#policies";
import { parseOverrides } from "#policy";
import type { ClientClass, Rules } from "#protocol";
import { type Place, placeKey } from "../scenario/arrangements.ts";
import { asTenant, openToTenants, writeGrants } from "./tenants.ts";

export interface PlaceOptions {
  /** A folder for run directories, pipes of daemons and software GPUs. */
  readonly directory: string;
  readonly gpu: GpuKind;
  /** The "GPU-…" to use, if there are several. */
  readonly uuid: string | undefined;
  /** The words that start this program. */
  readonly cotenant: readonly string[];
  readonly softGpuFolder: () => string;
  readonly uid: number;
}

/** A job's options for an agent, in the words of `cotenant run`. */
interface Asks {
  readonly slo: readonly string[];
  readonly profile: string | undefined;
}

export interface OpenPlace {
  /** The words before the command of a job. */
  prefix(kind: ClientClass, job: string, asks: Asks): readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The rules in force; undefined without an agent, and before the agent has a client. */
  rules(): Rules | undefined;
  /** undefined without an agent. */
  status(): Status | undefined;
  close(): Promise<void>;
}

/** For places without an agent. */
const unruled: Pick<OpenPlace, "prefix" | "rules" | "status"> = {
  prefix: () => [],
  rules: () => undefined,
  status: () => undefined,
};

export class Places {
  readonly #options: PlaceOptions;
  readonly #open = new Map<string, OpenPlace>();
  readonly #base: Readonly<Record<string, string | undefined>>;
  #agents = 0;

  constructor(options: PlaceOptions) {
    this.#options = options;
    const { gpu, uuid, softGpuFolder } = options;
    const { LD_LIBRARY_PATH: libraries } = process.env;
    this.#base = {
      ...process.env,
      ...(uuid === undefined ? {} : { CUDA_VISIBLE_DEVICES: uuid }),
      ...(gpu === "soft"
        ? { LD_LIBRARY_PATH: [softGpuFolder(), libraries].filter(Boolean).join(":") }
        : {}),
    };
  }

  /** Throws a UserError if the place cannot be opened. */
  async open(place: Place): Promise<OpenPlace> {
    const key = placeKey(place);
    const opened = this.#open.get(key) ?? (await this.#start(place));
    this.#open.set(key, opened);
    return opened;
  }

  /** The environment of a process in the place. */
  environment(place: OpenPlace, added: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
    return { ...this.#base, ...place.env, ...added };
  }

  async close(): Promise<void> {
    for (const place of this.#open.values()) await place.close();
    this.#open.clear();
  }

  /** There are two software GPUs, because either all processes of a software GPU are under MPS or none. */
  #softGpu(mode: Mode): Record<string, string> {
    if (this.#options.gpu !== "soft") return {};
    const directory = `${this.#options.directory}/softgpu-${mode}`;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return { COTENANT_SOFTGPU_DIR: directory };
  }

  #start(place: Place): Promise<OpenPlace> | OpenPlace {
    switch (place.kind) {
      case "native":
      case "streams":
        return { ...unruled, env: this.#softGpu("isolated"), close: async () => {} };
      case "mps":
        return this.#startMps();
      case "cotenant":
        return this.#startAgent(place);
    }
  }

  async #startMps(): Promise<OpenPlace> {
    const { directory, gpu } = this.#options;
    const folders = { pipes: `${directory}/mps`, logs: `${directory}/mps-log` };
    const daemon =
      gpu === "soft" ? startSoftMps(folders) : await startMps(folders, this.#base, () => {});
    return {
      ...unruled,
      env: { ...mpsEnvironment(folders), ...this.#softGpu("mps") },
      close: () => daemon.stop(),
    };
  }

  async #startAgent({
    policy,
    mode,
    tenants,
    rules,
  }: Extract<Place, { kind: "cotenant" }>): Promise<OpenPlace> {
    const { gpu, uid, cotenant } = this.#options;
    // Short, because a socket's path may have 107 bytes, and the rules of an arrangement can be many.
    const directory = `${this.#options.directory}/agent-${++this.#agents}`;
    mkdirSync(directory, { mode: 0o700 });
    if (tenants) openToTenants(this.#options.directory);
    const agent: Agent = await startAgent({
      directory,
      ...(tenants ? { scope: "machine", grants: writeGrants(directory) } : {}),
      uid,
      gpu,
      mode,
      policy: runnablePolicyNamed(policy),
      overrides: parseOverrides(rules),
      port: 0,
      env: { ...this.#base, ...this.#softGpu(mode) },
      clock: systemClock,
      log: () => {},
    });
    return {
      prefix: (kind, job, { slo, profile }) => [
        ...(tenants ? asTenant(kind, this.#options.directory) : []),
        ...[...cotenant, "run", "--class", kind, "--name", job],
        ...slo.flatMap((one) => ["--slo", one]),
        ...(profile === undefined ? [] : ["--profile", profile]),
        "--",
      ],
      env: { COTENANT_DIR: directory, ...this.#softGpu(mode) },
      rules: () => agent.status().gpus.find(({ served }) => served)?.served?.rules,
      status: () => agent.status(),
      close: () => agent.stop("the measurement is over"),
    };
  }
}
