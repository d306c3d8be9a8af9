// One stage: an agent in one mode, both jobs started once, and rounds of windows. The agent's rules change from window
// to window: `off` only counts, so that contexts share the GPU as without Cotenant.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Agent, type Mode, startAgent } from "#agent";
import { systemClock } from "#core";
import { type Policy, policyNamed } from "#policy";
import { rate } from "../stats.ts";
import { Meter, type Work, workOf } from "./meter.ts";
import type { TryOptions, WindowName } from "./options.ts";
import { Pair } from "./pair.ts";
import type { Blocks } from "./samples.ts";
import { type SharedName, titleOf } from "./verdict.ts";

/** What was seen in one window. */
export interface TryWindow {
  readonly name: WindowName;
  readonly mode: Mode;
  /** The service's bursts. */
  readonly bursts: Blocks;
  /** What the service says itself; undefined if nothing was given that tells. */
  readonly app: Blocks | undefined;
  readonly work: { readonly from: Work; readonly to: Work };
  /** Steps a second by the training's own output. */
  readonly stepsPerS: number | undefined;
}

export interface StagePlan {
  readonly mode: Mode;
  readonly shared: readonly { readonly name: SharedName; readonly policy: string }[];
  /** Whether the training is measured alone, before and after. */
  readonly alone: boolean;
}

export const stages: readonly StagePlan[] = [
  {
    mode: "isolated",
    shared: [
      { name: "time-slicing", policy: "off" },
      { name: "cotenant-isolated", policy: "strict" },
    ],
    alone: true,
  },
  {
    mode: "mps",
    shared: [
      { name: "mps-priority", policy: "off" },
      { name: "cotenant-mps", policy: "strict" },
    ],
    alone: false,
  },
];

/** The agent looks four times a second: so long after a change its rules are in force. */
const RULES_S = 0.4;
/** The first moments of a window do not count. */
const SETTLE_S = 0.6;

const off = policyNamed("off");

const windowTitle = (name: "solo" | SharedName): string =>
  name === "solo" ? "the service alone" : titleOf(name);

const windowSeconds = ({ seconds }: TryOptions) => seconds + RULES_S + SETTLE_S;

const roundsSeconds = ({ shared }: StagePlan, options: TryOptions) =>
  (1 + shared.length) * options.rounds * windowSeconds(options);

/** Seconds, without the time in which the jobs become ready. */
export const secondsOf = (plan: StagePlan, options: TryOptions): number =>
  3 * options.warmUp + roundsSeconds(plan, options) + (plan.alone ? 2 : 0) * windowSeconds(options);

export interface StageOutcome {
  readonly windows: readonly TryWindow[];
  readonly gpu: string;
  /** Processes on the GPU that do not belong to this. */
  readonly strangers: readonly string[];
}

/** `isNoisy`: why the rounds should be measured once more; undefined if they should not. */
export async function runStage(
  plan: StagePlan,
  options: TryOptions,
  say: (line: string, leftS: number) => void,
  isNoisy: (windows: readonly TryWindow[]) => string | undefined,
): Promise<StageOutcome> {
  const meter = new Meter(off);
  const directory = join(options.directory, plan.mode);
  mkdirSync(directory, { mode: 0o700 });
  const agent = await startAgent({
    directory,
    uid: options.uid,
    gpu: options.gpu,
    mode: plan.mode,
    policy: meter.asPolicy,
    overrides: {},
    port: 0,
    env: process.env,
    clock: systemClock,
    log: () => {},
  });
  const pair = new Pair(options, agent, directory);
  try {
    return await new Stage(plan, options, meter, agent, pair, say).run(isNoisy);
  } finally {
    await pair.stop();
    await agent.stop("the stage is over");
  }
}

class Stage {
  readonly #plan: StagePlan;
  readonly #options: TryOptions;
  readonly #meter: Meter;
  readonly #agent: Agent;
  readonly #pair: Pair;
  readonly #tell: (line: string, leftS: number) => void;
  #leftS: number;

  constructor(
    plan: StagePlan,
    options: TryOptions,
    meter: Meter,
    agent: Agent,
    pair: Pair,
    say: (line: string, leftS: number) => void,
  ) {
    this.#plan = plan;
    this.#options = options;
    this.#meter = meter;
    this.#agent = agent;
    this.#pair = pair;
    this.#tell = say;
    this.#leftS = secondsOf(plan, options);
  }

  async run(isNoisy: (windows: readonly TryWindow[]) => string | undefined): Promise<StageOutcome> {
    const pair = this.#pair;
    const { alone } = this.#plan;
    const before: TryWindow[] = [];
    this.#say("starting the training");
    await pair.startTraining();
    this.#leftS -= this.#options.warmUp;
    if (alone) {
      this.#say("the training alone");
      before.push(await this.#window("alone", off));
    }
    // The service must not meet a training that works while it loads its model and calibrates.
    pair.pauseTraining();
    this.#say("starting the service");
    await pair.startService();
    this.#leftS -= this.#options.warmUp;
    await this.#learn();
    let rounds = await this.#rounds();
    const why = isNoisy([...before, ...rounds]);
    if (why !== undefined) {
      this.#leftS += roundsSeconds(this.#plan, this.#options);
      this.#options.warn(`${why} It is measured once more.`);
      rounds = await this.#rounds();
    }
    const [gpu] = this.#agent.status().gpus.filter(({ high }) => high.length > 0);
    const outcome = {
      gpu: gpu?.name ?? "",
      strangers: (gpu?.strangers ?? []).map(({ pid, name }) => `${name || "unknown"} (pid ${pid})`),
    };
    await pair.stopService();
    if (alone) {
      this.#say("the training alone once more");
      rounds.push(await this.#window("alone", off));
    }
    return { windows: [...before, ...rounds], ...outcome };
  }

  #say(line: string): void {
    this.#tell(`mode ${this.#plan.mode}, ${line}`, this.#leftS);
  }

  /**
   * How long a kernel takes is known once the gate has held and timed it. Until then chunks are too long or too short, so
   * this time does not count.
   */
  async #learn(): Promise<void> {
    const { shared } = this.#plan;
    this.#say("Cotenant learns how long the training's kernels take");
    this.#meter.policy = policyNamed(shared.at(-1)?.policy ?? "strict");
    this.#pair.resumeTraining();
    await this.#pair.wait(this.#options.warmUp);
    this.#leftS -= this.#options.warmUp;
  }

  /** Odd rounds run in reverse order. */
  async #rounds(): Promise<TryWindow[]> {
    const { shared } = this.#plan;
    const order = [
      { name: "solo" as const, policy: off },
      ...shared.map(({ name, policy }) => ({ name, policy: policyNamed(policy) })),
    ];
    const windows: TryWindow[] = [];
    for (let round = 0; round < this.#options.rounds; round++) {
      for (const { name, policy } of round % 2 === 0 ? order : [...order].reverse()) {
        this.#say(`round ${round + 1} of ${this.#options.rounds}, ${windowTitle(name)}`);
        windows.push(await this.#window(name, policy));
      }
    }
    return windows;
  }

  async #window(name: WindowName, policy: Policy): Promise<TryWindow> {
    const pair = this.#pair;
    this.#meter.policy = policy;
    if (name !== "solo") pair.resumeTraining();
    // What the training has queued is released by the rules `off` before it stands still.
    await pair.wait(RULES_S);
    if (name === "solo") pair.pauseTraining();
    await pair.wait(SETTLE_S);
    const endLatency = await pair.latency?.begin();
    const from = workOf(this.#agent, systemClock.now());
    await pair.wait(this.#options.seconds);
    const to = workOf(this.#agent, systemClock.now());
    const app = await endLatency?.();
    this.#leftS -= windowSeconds(this.#options);
    // The agent's next look holds the last bursts, and does not lie within the window.
    return {
      name,
      mode: this.#plan.mode,
      bursts: this.#meter.takeBursts(from.atNs, to.atNs),
      app,
      work: { from, to },
      stepsPerS: this.#options.progress && rate(pair.stepsNs, from.atNs, to.atNs),
    };
  }
}
