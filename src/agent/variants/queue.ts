// A client's PTX may take minutes and gigabytes to read, and the agent has one thread for all
// clients: so separate processes do it, one request each at a time, within limits. Clients are
// served round robin, so that none starves the others.
import { type Clock, ms } from "#core";
import type { Log } from "../log/log.ts";
import { type PendingRequest, refused, type VariantMaker, type VariantReply } from "./maker.ts";
import { Refusals } from "./refusals.ts";
import { Turns, type Waiting } from "./turns.ts";
import { type Program, VariantWorker, type WorkerEnd } from "./worker.ts";

export interface VariantLimits {
  readonly seconds: number; // the time begins when a request is in work
  readonly mebibytes: number; // limits the heap of one process
  readonly waitSeconds: number; // the time ends when a request is in work
  readonly waitingPerClient: number;
  readonly waiting: number;
  readonly processes: number;
  readonly idleSeconds: number;
}

/** A client waits for 60 seconds (native/interposer/agent/link.cpp). */
export const variantLimits: VariantLimits = {
  seconds: 10,
  mebibytes: 768,
  waitSeconds: 45,
  waitingPerClient: 4,
  waiting: 64,
  processes: 2,
  idleSeconds: 30,
};

export interface VariantQueueOptions {
  readonly program: Program;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: VariantLimits;
}

export class VariantQueue implements VariantMaker {
  readonly #options: VariantQueueOptions;
  readonly #limits: VariantLimits;
  readonly #workers = new Set<VariantWorker>();
  readonly #turns = new Turns();
  readonly #refusals = new Refusals();
  #keepsOne = false;
  #closed = false;

  constructor(options: VariantQueueOptions) {
    this.#options = options;
    this.#limits = options.limits ?? variantLimits;
  }

  /** A process that is ready serves clients that do not wait long. */
  keepOne(keeps: boolean): void {
    this.#keepsOne = keeps;
    if (keeps && this.#workers.size === 0) this.#start();
    for (const worker of this.#workers) if (worker.free) this.#rest(worker);
  }

  ask(path: string, client: number): PendingRequest {
    const full = this.#fullFor(client);
    if (full) return { answer: Promise.resolve(refused(full)), giveUp() {} };
    const { request, answer } = this.#waiting(path, client);
    this.#turns.add(request);
    this.#proceed();
    return {
      answer,
      giveUp: () => {
        // A request in work continues: its variants are kept for the next client.
        if (this.#turns.remove(request)) request.settle(refused("The client hung up."));
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#refuseAll("The agent stops.");
    const ended = [...this.#workers].map((worker) => worker.closed());
    for (const worker of this.#workers) worker.end("The agent stops.");
    await Promise.all(ended);
  }

  #waiting(path: string, client: number) {
    const { waitSeconds } = this.#limits;
    let resolve = (_: VariantReply) => {};
    const answer = new Promise<VariantReply>((resolved) => {
      resolve = resolved;
    });
    const impatience = this.#options.clock.after(ms(waitSeconds * 1000), () => {
      this.#turns.remove(request);
      resolve(refused(`Other requests for variants took longer than ${waitSeconds} s.`));
    });
    const request: Waiting = {
      path,
      client,
      settle(reply) {
        impatience();
        resolve(reply);
      },
    };
    return { request, answer };
  }

  #fullFor(client: number): string | undefined {
    const { waiting, waitingPerClient } = this.#limits;
    if (this.#closed) return "The agent stops.";
    const own = this.#turns.lengthOf(client);
    if (own >= waitingPerClient)
      return `Process ${client} has ${own} requests for variants waiting: that is the limit.`;
    const all = this.#turns.length;
    return all >= waiting
      ? `${all} requests for variants are waiting: that is the limit.`
      : undefined;
  }

  #proceed(): void {
    for (;;) {
      const workers = [...this.#workers].filter(({ ending }) => !ending);
      const next = this.#turns.next(new Set(workers.map(({ client }) => client)));
      if (!next) return;
      const worker = workers.find(({ free }) => free);
      if (!worker) {
        const starting = workers.some(({ ready }) => !ready);
        if (!starting && this.#workers.size < this.#limits.processes) this.#start();
        return;
      }
      this.#turns.take(next);
      worker.give(next);
    }
  }

  #start(): void {
    const { program, clock } = this.#options;
    const { seconds, mebibytes } = this.#limits;
    const worker = new VariantWorker(
      { program, clock, seconds, mebibytes },
      {
        free: () => {
          this.#rest(worker);
          this.#proceed();
        },
        gone: (end) => this.#gone(worker, end),
      },
    );
    this.#workers.add(worker);
    for (const [key, reason] of this.#refusals.all) worker.refuse(key, reason);
  }

  #rest(worker: VariantWorker): void {
    worker.rest(this.#limits.idleSeconds, () => {
      if (!this.#keepsOne || this.#workers.size > 1) worker.end("It has nothing to do.");
    });
  }

  #gone(worker: VariantWorker, { why, request, beyondLimits }: WorkerEnd): void {
    this.#workers.delete(worker);
    const { ready } = worker;
    if ((request || !ready) && !this.#closed) this.#options.log("no variants", { because: why });
    if (beyondLimits !== undefined) this.#remember(beyondLimits, why);
    request?.settle(refused(why));
    if (ready || this.#closed) this.#proceed();
    else this.#refuseAll(why); // the next would not start either
    if (this.#keepsOne && ready && this.#workers.size === 0 && !this.#closed) this.#start();
  }

  #remember(key: string, why: string): void {
    const reason = `${why.replace(/\.$/, "")}, and it is not tried again while this agent runs`;
    this.#refusals.add(key, reason);
    for (const worker of this.#workers) worker.refuse(key, reason);
  }

  #refuseAll(why: string): void {
    for (const one of this.#turns.removeAll()) one.settle(refused(why));
  }
}
