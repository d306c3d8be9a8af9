import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { type Clock, errors, ms } from "#core";
import { welcomeStatus } from "#protocol";
import type { Made } from "./make-variants.ts";
import { refused, type VariantReply } from "./maker.ts";
import type { Answer, VariantMessage } from "./process.ts";
import type { Waiting } from "./turns.ts";

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

export interface WorkerOptions {
  readonly program: Program;
  readonly clock: Clock;
  readonly seconds: number; // the time begins when a request is in work
  readonly mebibytes: number; // limits the heap of the process
}

export interface WorkerEvents {
  free(): void;
  gone(end: WorkerEnd): void;
}

export interface WorkerEnd {
  readonly why: string;
  readonly request: Waiting | undefined;
  readonly beyondLimits: string | undefined;
}

const READY_WITHIN = ms(60_000);

/** The answer's slot holds this if the variant needs blocks whose x size is a multiple of 32. */
const WHOLE_WARPS = 1;

export class VariantWorker {
  readonly #options: WorkerOptions;
  readonly #events: WorkerEvents;
  readonly #child: ChildProcess;
  #ready = false;
  #gone = false;
  #request: Waiting | undefined;
  #begun: string | undefined;
  #because: string | undefined;
  #outOfTime = false;
  #timer = () => {};

  constructor(options: WorkerOptions, events: WorkerEvents) {
    this.#options = options;
    this.#events = events;
    const { program, clock, mebibytes } = options;
    const args = [`--max-old-space-size=${mebibytes}`, ...program.args];
    this.#child = spawn(program.command, args, { stdio: ["ignore", "ignore", "ignore", "ipc"] });
    this.#timer = clock.after(READY_WITHIN, () =>
      this.end("The process that makes variants does not start."),
    );
    this.#child.on("message", (answer: Answer) => this.#hear(answer));
    this.#child.on("error", (error) => this.#leave(errors.whyOf(error)));
    this.#child.on("exit", (status, signal) =>
      this.#leave(signal ? `ended by ${signal}` : `ended with status ${status}`),
    );
  }

  get ready(): boolean {
    return this.#ready;
  }

  get ending(): boolean {
    return this.#because !== undefined;
  }

  get client(): number | undefined {
    return this.#request?.client;
  }

  get free(): boolean {
    return this.#ready && !this.ending && !this.#request;
  }

  give(request: Waiting): void {
    const { clock, seconds } = this.#options;
    this.#timer();
    this.#request = request;
    this.#begun = undefined;
    this.#timer = clock.after(ms(seconds * 1000), () => {
      this.#outOfTime = true;
      this.end(`Making the variants took longer than ${seconds} s: that is the limit.`);
    });
    this.#send({ path: request.path });
  }

  refuse(key: string, reason: string): void {
    this.#send({ refuse: key, reason });
  }

  rest(seconds: number, run: () => void): void {
    this.#timer();
    this.#timer = this.#options.clock.after(ms(seconds * 1000), run);
  }

  end(because: string): void {
    this.#because ??= because;
    this.#child.kill("SIGKILL");
  }

  closed(): Promise<void> {
    return new Promise((resolve) => this.#child.once("close", () => resolve()));
  }

  #hear(answer: Answer): void {
    if (this.ending) return;
    if (answer !== "ready" && "begun" in answer) {
      this.#begun = answer.begun;
      return;
    }
    this.#timer();
    this.#timer = () => {};
    this.#ready = true;
    const request = this.#request;
    this.#request = undefined;
    if (request && answer !== "ready") request.settle(this.#replyOf(answer));
    this.#events.free();
  }

  #leave(how: string): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#timer();
    const { mebibytes } = this.#options;
    const { signalCode, exitCode } = this.#child;
    const outOfMemory = !this.ending && (signalCode === "SIGABRT" || exitCode === 134);
    const why =
      this.#because ??
      (outOfMemory
        ? `Making the variants took more than ${mebibytes} MiB: that is the limit.`
        : `The process that makes variants is gone: ${how}.`);
    const beyondLimits = this.#outOfTime || outOfMemory ? this.#begun : undefined;
    this.#events.gone({ why, request: this.#request, beyondLimits });
  }

  /** The agent opens the descriptor itself: the process may end before the client opens it. */
  #replyOf(made: Made): VariantReply {
    if ("reason" in made) return refused(made.reason);
    try {
      const variants = openSync(`/proc/${this.#child.pid}/fd/${made.fd}`, "r");
      const slot = made.wholeWarps ? WHOLE_WARPS : 0;
      return {
        reply: { status: welcomeStatus.ok, slot, files: [variants], reason: "" },
        done: () => closeSync(variants),
      };
    } catch (error) {
      return refused(`The variants can't be handed over: ${errors.whyOf(error)}.`);
    } finally {
      this.#send({ close: made.fd });
    }
  }

  /** The end of a process that is gone is reported elsewhere. */
  #send(asked: VariantMessage): void {
    this.#child.send(asked, () => {});
  }
}
