// Who waits for forms (variants.ts). What a client sends may take minutes and gigabytes to read, or never end, and the
// agent has one thread for all clients: so processes of their own do it, one request each at a time, within limits. A
// process that goes beyond them is ended and its request refused. Clients take turns, and one that has a request in
// work waits with its next: it can't keep others waiting who ask for little.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { type Clock, errors, ms } from "#core";
import { welcomeStatus } from "#protocol";
import type { Log } from "../log.ts";
import { type Reply, refusal } from "../registry.ts";
import type { Answer, Asked } from "./process.ts";
import type { Made } from "./variants.ts";

/** How to start a program. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

export interface FormMaker {
  /** `path`: the request's file; `client`: the process that asks. */
  ask(path: string, client: number): FormRequest;
}

export interface FormRequest {
  /** Never rejects: what goes wrong is a refusal. `done` closes the descriptor in the reply. */
  readonly answer: Promise<FormReply>;
  /** The client does not wait any more. */
  giveUp(): void;
}

interface FormReply {
  readonly reply: Reply;
  done(): void;
}

/** For an agent that makes none. */
export const noFormMaker: FormMaker = {
  ask: () => ({ answer: Promise.resolve(refused("This agent makes no forms.")), giveUp() {} }),
};

export interface FormLimits {
  /** For one request, once it is in work. */
  readonly seconds: number;
  /** Of one process's heap. */
  readonly mebibytes: number;
  /** Until a request is in work. */
  readonly waitSeconds: number;
  readonly waitingPerClient: number;
  readonly waiting: number;
  readonly processes: number;
  /** A process without work is kept so long. */
  readonly idleSeconds: number;
}

/** A client waits for 60 seconds (native/interposer/agent/link.cpp). */
export const formLimits: FormLimits = {
  seconds: 10,
  mebibytes: 768,
  waitSeconds: 45,
  waitingPerClient: 4,
  waiting: 64,
  processes: 2,
  idleSeconds: 30,
};

const READY_WITHIN = ms(60_000);

/** The answer's slot: the form is right only for blocks whose x size is a multiple of 32. */
const WHOLE_WARPS = 1;

interface Waiting {
  readonly path: string;
  readonly client: number;
  settle(answer: FormReply): void;
}

interface Maker {
  readonly child: ChildProcess;
  /** Has said that it is ready. */
  ready: boolean;
  request: Waiting | undefined;
  /** Why it is being ended. */
  because: string | undefined;
  /** Cancels what happens when it takes too long, or has nothing to do. */
  timer: () => void;
}

export interface FormQueueOptions {
  /** Starts a process that serves forms (form-process.ts). */
  readonly program: Program;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: FormLimits;
}

export class FormQueue implements FormMaker {
  readonly #options: FormQueueOptions;
  readonly #limits: FormLimits;
  readonly #makers = new Set<Maker>();
  /** By client; whose turn it is comes first. */
  readonly #waiting = new Map<number, Waiting[]>();
  #keepsOne = false;
  #closed = false;

  constructor(options: FormQueueOptions) {
    this.#options = options;
    this.#limits = options.limits ?? formLimits;
  }

  /** One process is kept ready, for clients that do not wait long. */
  keepOne(keeps: boolean): void {
    this.#keepsOne = keeps;
    if (keeps && this.#makers.size === 0) this.#start();
    for (const maker of this.#makers) if (maker.ready && !maker.request) this.#rest(maker);
  }

  ask(path: string, client: number): FormRequest {
    const own = this.#waiting.get(client) ?? [];
    const full = this.#fullFor(client, own.length);
    if (full) return { answer: Promise.resolve(refused(full)), giveUp() {} };
    let request: Waiting | undefined;
    const answer = new Promise<FormReply>((resolve) => {
      const { waitSeconds } = this.#limits;
      const impatience = this.#options.clock.after(ms(waitSeconds * 1000), () => {
        this.#forget(request);
        resolve(refused(`Other requests for forms took longer than ${waitSeconds} s.`));
      });
      request = {
        path,
        client,
        settle(reply) {
          impatience();
          resolve(reply);
        },
      };
      this.#waiting.set(client, [...own, request]);
    });
    this.#proceed();
    return {
      answer,
      giveUp: () => {
        // One that is in work goes on: its forms are kept for the next time that somebody asks.
        if (this.#forget(request)) request?.settle(refused("The client hung up."));
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#refuseAll("The agent stops.");
    const makers = [...this.#makers];
    const ended = makers.map(
      ({ child }) => new Promise<void>((resolve) => child.once("close", () => resolve())),
    );
    for (const maker of makers) this.#end(maker, "The agent stops.");
    await Promise.all(ended);
  }

  #fullFor(client: number, own: number): string | undefined {
    const { waiting, waitingPerClient } = this.#limits;
    if (this.#closed) return "The agent stops.";
    if (own >= waitingPerClient)
      return `Process ${client} has ${own} requests for forms waiting: that is the limit.`;
    const all = [...this.#waiting.values()].reduce((sum, { length }) => sum + length, 0);
    return all >= waiting ? `${all} requests for forms are waiting: that is the limit.` : undefined;
  }

  /** False where it does not wait any more. */
  #forget(request: Waiting | undefined): boolean {
    if (!request) return false;
    const own = this.#waiting.get(request.client) ?? [];
    const others = own.filter((one) => one !== request);
    if (others.length > 0) this.#waiting.set(request.client, others);
    else this.#waiting.delete(request.client);
    return others.length < own.length;
  }

  /** Gives work to whoever is free, and starts a process where nobody is. */
  #proceed(): void {
    for (;;) {
      const makers = [...this.#makers].filter(({ because }) => because === undefined);
      const busy = new Set(makers.map(({ request }) => request?.client));
      const next = [...this.#waiting].find(([client]) => !busy.has(client));
      if (!next) return;
      const free = makers.find(({ ready, request }) => ready && !request);
      if (!free) {
        const starting = makers.some(({ ready }) => !ready);
        if (!starting && this.#makers.size < this.#limits.processes) this.#start();
        return;
      }
      const [client, [first, ...rest]] = next;
      this.#waiting.delete(client);
      if (rest.length > 0) this.#waiting.set(client, rest);
      if (first) this.#give(free, first);
    }
  }

  #give(maker: Maker, request: Waiting): void {
    const { seconds } = this.#limits;
    maker.timer();
    maker.request = request;
    maker.timer = this.#options.clock.after(ms(seconds * 1000), () =>
      this.#end(maker, `Making the forms took longer than ${seconds} s: that is the limit.`),
    );
    send(maker.child, { path: request.path });
  }

  #start(): void {
    const { program, clock } = this.#options;
    const { mebibytes } = this.#limits;
    const child = spawn(program.command, [`--max-old-space-size=${mebibytes}`, ...program.args], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const maker: Maker = {
      child,
      ready: false,
      request: undefined,
      because: undefined,
      timer: clock.after(READY_WITHIN, () =>
        this.#end(maker, "The process that makes forms does not start."),
      ),
    };
    this.#makers.add(maker);
    child.on("message", (answer: Answer) => this.#hear(maker, answer));
    child.on("error", (fault) => this.#gone(maker, errors.whyOf(fault)));
    child.on("exit", (status, signal) =>
      this.#gone(maker, signal ? `ended by ${signal}` : `ended with status ${status}`),
    );
  }

  #hear(maker: Maker, answer: Answer): void {
    if (maker.because !== undefined) return;
    maker.timer();
    maker.ready = true;
    const { request } = maker;
    maker.request = undefined;
    if (request && answer !== "ready") request.settle(replyOf(answer, maker.child));
    this.#rest(maker);
    this.#proceed();
  }

  /** Nothing to do: it ends some time, unless it is the one that is kept. */
  #rest(maker: Maker): void {
    maker.timer();
    maker.timer = () => {};
    const { clock } = this.#options;
    const idle = ms(this.#limits.idleSeconds * 1000);
    maker.timer = clock.after(idle, () => {
      if (!this.#keepsOne || this.#makers.size > 1) this.#end(maker, "It has nothing to do.");
    });
  }

  #end(maker: Maker, because: string): void {
    maker.because ??= because;
    maker.child.kill("SIGKILL");
  }

  #gone(maker: Maker, how: string): void {
    if (!this.#makers.delete(maker)) return;
    maker.timer();
    const { request, ready, because } = maker;
    const { mebibytes } = this.#limits;
    const outOfMemory = maker.child.signalCode === "SIGABRT" || maker.child.exitCode === 134;
    const why =
      because ??
      (outOfMemory
        ? `Making the forms took more than ${mebibytes} MiB: that is the limit.`
        : `The process that makes forms is gone: ${how}.`);
    if ((request || !ready) && !this.#closed) this.#options.log("no forms", { because: why });
    request?.settle(refused(why));
    if (ready || this.#closed) this.#proceed();
    else this.#refuseAll(why); // the next would not start either
    if (this.#keepsOne && ready && this.#makers.size === 0 && !this.#closed) this.#start();
  }

  #refuseAll(why: string): void {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const one of all) one.settle(refused(why));
  }
}

const refused = (why: string): FormReply => ({ reply: refusal(why), done() {} });

/** The descriptor in it is ours: the process may end, and the client looks for it here. */
function replyOf(made: Made, child: ChildProcess): FormReply {
  if ("reason" in made) return refused(made.reason);
  try {
    const regionFd = openSync(`/proc/${child.pid}/fd/${made.fd}`, "r");
    const slot = made.wholeWarps ? WHOLE_WARPS : 0;
    return {
      reply: { status: welcomeStatus.ok, slot, regionFd, reason: "" },
      done: () => closeSync(regionFd),
    };
  } catch (fault) {
    return refused(`The forms can't be handed over: ${errors.whyOf(fault)}.`);
  } finally {
    send(child, { close: made.fd });
  }
}

/** To a process that is gone meanwhile it makes no difference: its end is heard of. */
function send(child: ChildProcess, asked: Asked): void {
  child.send(asked, () => {});
}
