// Both jobs start once; only the agent's parameters change between windows. `off` only counts, so
// contexts share the GPU as without Cotenant.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Agent, type Mode, type SlowBurst, startAgent } from "#agent";
import { systemClock } from "#core";
import { parseHealth } from "#health";
import { defaultPolicy, type Policy, policyNamed } from "#policy";
import { rate } from "../figures/stats.ts";
import { type Learned, leavesGaps, Meter, submittedOf, type Work, workOf } from "./meter.ts";
import type { TryOptions } from "./options.ts";
import { Pair } from "./pair.ts";
import type { Blocks } from "./samples.ts";
import { isCotenant, type WayName, type WindowName, wayNamed } from "./ways.ts";

export interface TryWindow {
  readonly name: WindowName;
  readonly mode: Mode;
  readonly bursts: Blocks;
  readonly app: Blocks | undefined;
  readonly slowest: readonly SlowBurst[];
  readonly work: { readonly from: Work; readonly to: Work };
  readonly stepsPerS: number | undefined;
}

export interface StagePlan {
  readonly mode: Mode;
  readonly ways: readonly WayName[];
  readonly strict: WayName;
  readonly alone: boolean;
}

export const stages: readonly StagePlan[] = [
  {
    mode: "isolated",
    ways: ["time-slicing", "cotenant-isolated"],
    strict: "strict-isolated",
    alone: true,
  },
  { mode: "mps", ways: ["mps-priority", "cotenant-mps"], strict: "strict-mps", alone: false },
];

const RULES_S = 0.4; // the agent samples four times a second
// Without a hold, the training launches as far ahead as the driver lets it: for more than a second
// on an H100. That work is waited for.
const MAX_DRAINING_S = 10;
const LONG_DRAINING_S = 0.5;
const LET_GO_S = 0.03;
const SETTLE_S = 0.6;
const SLOWEST = 3;

/** There is hardly a moment without a burst: requests queue, or may. */
const BUSY = 0.9;
const MAX_CATCHING_UP_S = 10;

// After 250 bursts the default policy knows whether a service leaves gaps (src/policy/ladder:
// WARM_UP, and MIN_BURSTS of gaps.ts), and climbs then.
const KNOWN_BURSTS = 300;
const STANDS_MS = 10_000;
const MAX_LEARNING_S = 60;

const off = policyNamed("off");
const strict = policyNamed("strict");

const windowTitle = (name: "solo" | WayName): string =>
  name === "solo" ? "the service alone" : wayNamed(name).title;

const windowSeconds = ({ seconds }: TryOptions) => seconds + RULES_S + SETTLE_S;

const roundsSeconds = (ways: readonly WayName[], options: TryOptions) =>
  (1 + ways.length) * options.rounds * windowSeconds(options);

/** The time in which jobs become ready is not in it. */
export const secondsOf = (plan: StagePlan, options: TryOptions): number =>
  3 * options.warmUp +
  roundsSeconds(plan.ways, options) +
  (plan.alone ? 2 : 0) * windowSeconds(options);

export interface StageOutcome {
  readonly windows: readonly TryWindow[];
  readonly gpu: string;
  readonly strangers: readonly string[];
}

/** `isNoisy` gives the reason to measure the rounds once more. */
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
    // Some arrangements slow the service down, which is the measurement.
    health: parseHealth(["lateness=off"]),
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
    const within = `${this.#options.startWithin} s at most`;
    this.#say(`starting the training, until it uses the GPU (${within})`);
    await pair.startTraining();
    this.#leftS -= this.#options.warmUp;
    if (alone) {
      this.#say("the training alone");
      before.push(await this.#window("alone", off));
    }
    // The service must not meet a training that works while it loads its model and calibrates.
    pair.pauseTraining();
    this.#say(`starting the service, until it answers requests on the GPU (${within})`);
    await pair.startService();
    this.#leftS -= this.#options.warmUp;
    const ways = await this.#learn();
    let rounds = await this.#rounds(ways);
    const why = isNoisy([...before, ...rounds]);
    if (why !== undefined) {
      this.#leftS += roundsSeconds(ways, this.#options);
      this.#options.warn(`${why} It is measured once more.`);
      rounds = await this.#rounds(ways);
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

  // A kernel's duration is known once the gate has timed it. Until then chunks are too long or too
  // short, so this time does not count.
  async #learn(): Promise<readonly WayName[]> {
    const { ways, strict } = this.#plan;
    this.#say("Cotenant learns how long the training's kernels take");
    this.#meter.put(defaultPolicy);
    this.#pair.resumeTraining();
    await this.#pair.wait(this.#options.warmUp);
    this.#leftS -= this.#options.warmUp;
    const end = performance.now() + MAX_LEARNING_S * 1000;
    const open = () => performance.now() < end;
    if (this.#meter.learned.bursts < KNOWN_BURSTS)
      this.#say("Cotenant learns how much of the GPU the service leaves");
    while (this.#meter.learned.bursts < KNOWN_BURSTS && open()) await this.#pair.wait(RULES_S);
    if (!leavesGaps(this.#meter.learned)) return ways;
    this.#say("Cotenant finds out how much of a request the training may run concurrently with it");
    const stands = ({ forMs, levelSinceMs }: Learned) => forMs - levelSinceMs >= STANDS_MS;
    while (!stands(this.#meter.learned) && open()) await this.#pair.wait(RULES_S);
    if (this.#meter.learned.memory?.level === 0) return ways;
    this.#leftS += this.#options.rounds * windowSeconds(this.#options);
    return [...ways, strict];
  }

  /** Odd rounds run in reverse order. */
  async #rounds(ways: readonly WayName[]): Promise<TryWindow[]> {
    const order = [
      { name: "solo" as const, policy: off },
      ...ways.map((name) => ({ name, policy: wayNamed(name).policy })),
    ];
    const windows: TryWindow[] = [];
    await this.#catchUp();
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
    if (name === "solo" && !pair.isTrainingPaused) await this.#pauseTraining();
    if (isCotenant(name)) await this.#drain(policy);
    else {
      this.#meter.put(policy);
      if (name !== "solo") pair.resumeTraining();
      await pair.wait(RULES_S);
    }
    await pair.wait(SETTLE_S);
    const endLatency = await pair.latency?.begin();
    const endSlow = this.#agent.watchSlowBursts(SLOWEST);
    const from = workOf(this.#agent, systemClock.now());
    await pair.wait(this.#options.seconds);
    const to = workOf(this.#agent, systemClock.now());
    const slowest = endSlow();
    const app = await endLatency?.();
    this.#leftS -= windowSeconds(this.#options);
    // The agent's next sample holds the last bursts, and does not lie within the window.
    const bursts = this.#meter.takeBursts(from.atNs, to.atNs);
    if (name !== "alone") await this.#catchUp();
    return {
      name,
      mode: this.#plan.mode,
      bursts,
      app,
      slowest,
      work: { from, to },
      stepsPerS: this.#options.progress && rate(pair.stepsNs, from.atNs, to.atNs),
    };
  }

  async #pauseTraining(): Promise<void> {
    await this.#drain(strict);
    // The training's helper thread must release paused work first: a waiting stream costs time.
    this.#meter.put(off);
    const end = performance.now() + MAX_DRAINING_S * 1000;
    while (!this.#meter.isInForce && performance.now() < end) await this.#pair.wait(LET_GO_S);
    await this.#pair.wait(LET_GO_S);
    this.#pair.pauseTraining();
  }

  /** Returns when the training, held by this policy, has finished what it launched before. */
  async #drain(policy: Policy): Promise<void> {
    this.#meter.put(policy);
    this.#pair.resumeTraining();
    await this.#pair.wait(RULES_S);
    const submitted = submittedOf(this.#agent);
    const begun = performance.now();
    const isLeft = () => workOf(this.#agent, systemClock.now()).gpuSeconds < submitted;
    let isSaid = false;
    for (;;) {
      const seconds = (performance.now() - begun) / 1000;
      if (!isLeft()) return;
      if (seconds > MAX_DRAINING_S)
        return this.#options.warn(
          `The training has not finished what it launched ${MAX_DRAINING_S} s ago, so it may disturb the next window.`,
        );
      if (!isSaid && seconds > LONG_DRAINING_S) {
        this.#say("the training finishes what it has launched");
        isSaid = true;
      }
      await this.#pair.wait(RULES_S / 4);
    }
  }

  /** Requests that have queued must not add to the load of the next window. */
  async #catchUp(): Promise<void> {
    if (!this.#isBehind()) return;
    this.#say("the service answers what has queued");
    this.#meter.put(off);
    await this.#pair.wait(RULES_S);
    this.#pair.pauseTraining();
    const end = performance.now() + MAX_CATCHING_UP_S * 1000;
    while (this.#isBehind() && performance.now() < end) await this.#pair.wait(RULES_S);
  }

  /** While requests overlap, no burst ends, and none shows its length. */
  #isBehind(): boolean {
    return (this.#meter.busyShare ?? this.#pair.activeShare()) >= BUSY;
  }
}
