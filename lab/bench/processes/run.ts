// Runs a measurement: from the scenario to the times of every request and iteration. Processes are started once per
// wave and run through rounds of short windows. In each round every arrangement has a window with the same arrivals,
// including solo and alone. So drift of clock, temperature or other jobs affects all alike. Odd rounds run in reverse
// order.

import { writeFileSync } from "node:fs";
import { JobFailed, JobProcess } from "#measure";
import { type Arrangement, alone, solo } from "../scenario/arrangements.ts";
import { arrivalText } from "../scenario/arriving.ts";
import { type ProcessPlan, processesOf, rolesIn, waves } from "../scenario/cast.ts";
import type { Scenario } from "../scenario/scenario.ts";
import { Control } from "./control.ts";
import type { GpuWatch } from "./gpu-watch.ts";
import {
  ALONE_S,
  calibrationOf,
  type Pace,
  paceOf,
  paceText,
  serviceTime,
  warmUpOf,
} from "./pace.ts";
import type { Places } from "./places.ts";
import { LEAD_S, type Member, runWindow, SETTLE_S, type Window } from "./window.ts";

const READY_WITHIN_S = 300;

export interface Surroundings {
  /** The folder for control files and logs. */
  readonly directory: string;
  readonly places: Places;
  readonly watch: GpuWatch;
  /** GPU memory in bytes that the processes may take. */
  readonly memory: number;
  /** Ends the measurement early. Complete rounds are kept. */
  readonly stop: AbortSignal;
  /** The command of a process, with `{workloads}` and other placeholders replaced. */
  command(plan: ProcessPlan): readonly string[];
  say(line: string): void;
  /** A step begins. `leftS`: seconds until the last window ends, if that is known. */
  step(line: string, leftS?: number): void;
}

/** The windows of one round, by arrangement. */
export type Round = ReadonlyMap<string, Window>;

export interface Measured {
  readonly ratePerS: number | undefined;
  /** The median time of a request of the high job alone, in ns. Loads are relative to it. */
  readonly serviceNs: number;
  readonly windowSeconds: number;
  readonly rounds: readonly Round[];
  /** By arrangement, why there are no figures. */
  readonly failures: ReadonlyMap<string, string>;
  /** Why there are fewer rounds than asked for. */
  readonly cutShort: string | undefined;
  readonly facts: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

const always = [solo, alone];

/** Without answering. */
const secondsOfRound = (arrangements: readonly Arrangement[], { seconds }: Pace): number =>
  arrangements.reduce(
    (sum, { high }) => sum + LEAD_S + (high ? seconds : Math.min(seconds, ALONE_S)),
    0,
  );

export class Measurement {
  readonly #scenario: Scenario;
  readonly #around: Surroundings;
  readonly #control: Control;
  readonly #processes = new Map<string, JobProcess>();
  readonly #facts = new Map<string, Readonly<Record<string, unknown>>>();
  readonly #failures = new Map<string, string>();
  readonly #rounds: Round[] = [];
  #pace: Pace | undefined;

  constructor(scenario: Scenario, around: Surroundings) {
    this.#scenario = scenario;
    this.#around = around;
    this.#control = new Control(around.directory);
  }

  /** Throws JobFailed if a native job dies in the first round. */
  async run(): Promise<Measured> {
    const scenario = this.#scenario;
    for (const { place } of scenario.arrangements) await this.#around.places.open(place);
    const planned = waves(scenario, always, this.#around.memory) ?? [];
    let cutShort: string | undefined;
    try {
      for (const [index, wave] of planned.entries()) {
        const title = planned.length > 1 ? `wave ${index + 1} of ${planned.length}, ` : "";
        this.#around.step(
          `${title}starting ${[...always, ...wave].map(({ name }) => name).join(", ")}`,
        );
        await this.#wave(wave, title, planned.slice(index + 1));
        await this.#leave(planned[index + 1] ?? []);
      }
    } catch (error) {
      // Without the native jobs there is nothing to compare with. What was measured before is kept.
      if (!(error instanceof JobFailed) || this.#rounds.length === 0) throw error;
      cutShort = this.#around.stop.aborted ? "stopped by a signal" : error.message;
      for (const { name } of scenario.arrangements)
        if (!this.#rounds.some((round) => round.has(name)) && !this.#failures.has(name))
          this.#failures.set(name, cutShort);
    }
    const pace = this.#pace;
    if (!pace) throw new Error("nothing was measured");
    return {
      ratePerS: pace.ratePerS,
      serviceNs: pace.serviceNs,
      windowSeconds: pace.seconds - SETTLE_S,
      rounds: this.#rounds,
      failures: this.#failures,
      cutShort,
      facts: this.#facts,
    };
  }

  async #wave(
    wave: readonly Arrangement[],
    title: string,
    later: readonly (readonly Arrangement[])[],
  ): Promise<void> {
    const arrangements = [...always, ...wave];
    await this.#start(arrangements);
    const pace = this.#pace ?? (await this.#findPace());
    this.#pace = pace;
    const { rounds } = this.#scenario;
    const roundS = (of: readonly Arrangement[]) => secondsOfRound([...always, ...of], pace);
    const laterS = later.reduce((sum, one) => sum + (rounds + 1) * roundS(one), 0);
    for (let round = 0; round <= rounds; round++) {
      const leftS = (rounds + 1 - round) * roundS(wave) + laterS;
      this.#around.step(
        `${title}${round === 0 ? "a round that does not count" : `round ${round} of ${rounds}`}`,
        leftS,
      );
      const seen = await this.#round(arrangements, round, pace);
      if (round > 0) this.#rounds.push(seen);
    }
  }

  /** Ends every process; at once if `abruptly`. */
  async end(abruptly = false): Promise<void> {
    if (abruptly) for (const process of this.#processes.values()) process.kill();
    this.#control.quit();
    await Promise.all([...this.#processes.values()].map((process) => process.end()));
    this.#processes.clear();
  }

  async #start(arrangements: readonly Arrangement[]): Promise<void> {
    const wanted = new Map(
      arrangements
        .flatMap((one) => processesOf(one, this.#scenario))
        .filter(({ name }) => !this.#processes.has(name))
        .map((plan) => [plan.name, plan]),
    );
    this.#control.idle();
    for (const plan of wanted.values()) {
      const process = await this.#launch(plan);
      this.#processes.set(plan.name, process);
      if (plan.high?.startsAlone || plan.bestEffort?.startsAlone)
        await this.#readyOrEnded(process, plan.name);
    }
    for (const arrangement of arrangements) await this.#ready(arrangement);
  }

  async #launch(plan: ProcessPlan): Promise<JobProcess> {
    const { places, command, directory } = this.#around;
    const place = await places.open(plan.arrangement.place);
    const kind = plan.high ? "high" : "best-effort";
    const asks = {
      slo: plan.high ? this.#scenario.slo : [],
      profile: (plan.high ?? plan.bestEffort)?.profile,
    };
    const prefix = place.prefix(kind, plan.name, asks);
    const line = [...prefix, ...command(plan), "--control", directory];
    const { high, bestEffort } = rolesIn(plan.arrangement, this.#scenario);
    const streams = plan.high !== undefined && plan.bestEffort !== undefined;
    const jobs = streams ? [high, ...bestEffort].flatMap((one) => one?.name ?? []) : [plan.name];
    this.#control.forget(jobs);
    const names = streams
      ? ["--high-name", jobs[0] ?? "", "--best-effort-name", jobs[1] ?? ""]
      : ["--name", plan.name];
    const env = places.environment(place, plan.high ? {} : plan.arrangement.bestEffortEnv);
    return new JobProcess(plan.name, [...line, ...names], env, directory);
  }

  /** Waits until the process is ready or has ended. The arrangements that need it notice its end. */
  async #readyOrEnded(process: JobProcess, name: string): Promise<void> {
    const look = () => this.#control.readiness(name);
    await process.until(look, READY_WITHIN_S, "ready").catch((error: unknown) => {
      if (!(error instanceof JobFailed)) throw error;
    });
  }

  async #ready(arrangement: Arrangement): Promise<void> {
    const { high, bestEffort } = rolesIn(arrangement, this.#scenario);
    for (const { process, name } of [...(high ? [high] : []), ...bestEffort]) {
      const look = () => this.#control.readiness(name);
      try {
        const found = await this.#process(process).until(look, READY_WITHIN_S, "ready");
        this.#facts.set(name, found);
      } catch (error) {
        this.#fail(arrangement, error);
        return;
      }
    }
  }

  /** The rate of requests, from what the high job alone can serve. */
  async #findPace(): Promise<Pace> {
    const cast = { ...this.#cast(solo), bestEffort: [] };
    const facts = this.#facts.get(cast.high?.name ?? "") ?? {};
    const plan = { arrivals: undefined, announceUs: 0, seconds: calibrationOf(facts) };
    const { requests } = await runWindow({ ...plan, cast }, this.#control, this.#around.watch);
    const serviceNs = serviceTime(
      requests.map((request) => request.serviceNs),
      facts.batches === true,
    );
    const pace = paceOf(this.#scenario, serviceNs);
    if (pace.ratePerS !== undefined) this.#around.say(paceText(pace, this.#scenario));
    return pace;
  }

  /** Runs one window of each arrangement that has not failed. */
  async #round(arrangements: readonly Arrangement[], round: number, pace: Pace): Promise<Round> {
    const seen = new Map<string, Window>();
    for (const arrangement of round % 2 === 0 ? arrangements : [...arrangements].reverse()) {
      if (this.#around.stop.aborted) throw new JobFailed("stopped");
      if (this.#failures.has(arrangement.name)) continue;
      const seconds = round === 0 ? warmUpOf(arrangement, this.#scenario, pace) : pace.seconds;
      const arrivals = arrivalText(this.#scenario.arriving, pace.serviceNs, seconds, round);
      const file = arrivals === undefined ? undefined : `${this.#around.directory}/arrivals`;
      if (file !== undefined) writeFileSync(file, arrivals ?? "");
      const own = arrangement.high ? seconds : Math.min(seconds, ALONE_S);
      try {
        const place = await this.#around.places.open(arrangement.place);
        const window = await runWindow(
          {
            cast: this.#cast(arrangement),
            arrivals: arrangement.high ? file : undefined,
            announceUs: arrangement.announceUs,
            seconds: own,
            rules: () => place.rules(),
          },
          this.#control,
          this.#around.watch,
        );
        seen.set(arrangement.name, window);
      } catch (error) {
        this.#fail(arrangement, error);
      }
    }
    return seen;
  }

  #cast(arrangement: Arrangement) {
    const { high, bestEffort } = rolesIn(arrangement, this.#scenario);
    const member = ({ process, name }: { process: string; name: string }): Member => ({
      process: this.#process(process),
      name,
    });
    return { high: high && member(high), bestEffort: bestEffort.map(member) };
  }

  #process(name: string): JobProcess {
    const found = this.#processes.get(name);
    if (!found) throw new Error(`process ${name} was not started`);
    return found;
  }

  /** Notes that the cell has failed and keeps the others. Throws if the cell was a native job alone. */
  #fail(arrangement: Arrangement, error: unknown): void {
    if (!(error instanceof JobFailed)) throw error;
    if (always.includes(arrangement) || this.#around.stop.aborted) throw error;
    this.#around.say(`${arrangement.name} failed: ${error.message}`);
    this.#failures.set(arrangement.name, error.message);
    this.#control.idle();
  }

  /** Ends the processes that the next wave does not need, because its memory was counted without them. */
  async #leave(next: readonly Arrangement[]): Promise<void> {
    const needed = new Set(
      [...always, ...next].flatMap((one) =>
        processesOf(one, this.#scenario).map(({ name }) => name),
      ),
    );
    const leaving = [...this.#processes].filter(([name]) => !needed.has(name));
    for (const [name, process] of leaving) {
      process.kill("SIGTERM");
      this.#processes.delete(name);
    }
    await Promise.all(leaving.map(([, process]) => process.end()));
  }
}
