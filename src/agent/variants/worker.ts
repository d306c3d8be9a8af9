// The agent's side of one process that makes variants (process.ts): starts it, gives it one request at a time, and ends it
// where it goes beyond its limits.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { type Clock, errors, ms } from "#core";
import { welcomeStatus } from "#protocol";
import type { Made } from "./make-variants.ts";
import { refused, type VariantReply } from "./maker.ts";
import type { Answer, VariantMessage } from "./process.ts";
import type { Waiting } from "./turns.ts";

/** How to start a program. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

export interface WorkerOptions {
  /** Starts a process that serves variants. */
  readonly program: Program;
  readonly clock: Clock;
  /** For one request, once it is in work. */
  readonly seconds: number;
  /** Heap limit of the process. */
  readonly mebibytes: number;
}

export interface WorkerEvents {
  /** It is ready, for the first time or because it has answered its request. */
  free(): void;
  gone(end: WorkerEnd): void;
}

export interface WorkerEnd {
  readonly why: string;
  /** The request that it had in work, if any. */
  readonly request: Waiting | undefined;
  /** Key of the request, if it took more time or memory than allowed. */
  readonly beyondLimits: string | undefined;
}

const READY_WITHIN = ms(60_000);

/** The answer's slot: the variant is right only for blocks whose x size is a multiple of 32. */
const WHOLE_WARPS = 1;

export class VariantWorker {
  readonly #options: WorkerOptions;
  readonly #events: WorkerEvents;
  readonly #child: ChildProcess;
  #ready = false;
  #gone = false;
  #request: Waiting | undefined;
  /** The key of the request, once the process has read it and begins to make its variants. */
  #begun: string | undefined;
  /** Why it is being ended. */
  #because: string | undefined;
  #outOfTime = false;
  /** Cancels what happens when it takes too long, or has nothing to do. */
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

  /** It has said that it is ready. */
  get ready(): boolean {
    return this.#ready;
  }

  get ending(): boolean {
    return this.#because !== undefined;
  }

  /** The client whose request is in work. */
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

  /** It has nothing to do: `run` follows unless it gets a request before. */
  rest(seconds: number, run: () => void): void {
    this.#timer();
    this.#timer = this.#options.clock.after(ms(seconds * 1000), run);
  }

  end(because: string): void {
    this.#because ??= because;
    this.#child.kill("SIGKILL");
  }

  /** Resolves when nothing of the process is left. */
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

  /** The descriptor in it is one of the agent: the process may end, and the client looks for it in the agent. */
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

  /** To a process that is gone meanwhile it makes no difference: its end is reported of. */
  #send(asked: VariantMessage): void {
    this.#child.send(asked, () => {});
  }
}
