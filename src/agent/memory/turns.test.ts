// Best-effort clients that do not fit together, in virtual time: real shared memory and the agent's code, a GPU that only
// counts bytes, and clients that obey as native/interposer/movable does.

import { expect, onTestFinished, test } from "vitest";
import { nanos } from "#core";
import { parkStates } from "#protocol";
import { defaultApplicant, ServedGpu } from "../gpus/gpu.ts";
import { wantedIn } from "./movable.ts";
import { Room } from "./room.ts";
import type { Quantum } from "./turns.ts";

const GB = 1e9;
const MS = 1e6;
const SECOND = 1e9;
const LOOK = 100 * MS;
const TAG = 7;
/** Bytes a ns that are moved. */
const RATE = 50;

interface Job {
  readonly name: string;
  readonly gb: number;
  readonly startsAt?: number;
  readonly share?: number;
  /** Gigabytes of one allocation. */
  readonly stepGb?: number;
}

class Gpu {
  now = 1000 * SECOND;
  readonly gpu = new ServedGpu({ uuid: new Uint8Array(16), name: "test", smCount: 1 }, process.pid);
  readonly room: Room;
  readonly total: number;
  readonly clients: Client[] = [];
  readonly events: string[] = [];

  constructor(gb: number, quantum: Quantum = "auto") {
    this.total = gb * GB;
    onTestFinished(() => this.gpu.close());
    this.room = new Room({
      reserve: 0,
      quantum,
      free: () => this.free,
      now: () => nanos(this.now),
      log: (event, { client = "" } = {}) => this.events.push(`${event} ${client}`),
    });
  }

  get free(): number {
    return this.total - this.clients.reduce((sum, client) => sum + client.onGpu, 0);
  }

  add(job: Job): Client {
    const client = new Client(this, job);
    this.clients.push(client);
    return client;
  }

  run(seconds: number): void {
    for (const until = this.now + seconds * SECOND; this.now < until; this.now += LOOK) {
      for (const client of this.clients) client.step();
      expect(this.free).toBeGreaterThanOrEqual(0);
      this.room.look([this.gpu]);
    }
  }
}

class Client {
  readonly #on: Gpu;
  readonly #job: Job;
  readonly #slot;
  /** Memory on the GPU; `parked`: in host memory. The rest is not allocated yet. */
  onGpu = 0;
  parked = 0;
  ranNs = 0;
  failed = false;
  #move:
    | { readonly to: "parked" | "open"; readonly bytes: number; readonly doneAt: number }
    | undefined;

  constructor(on: Gpu, job: Job) {
    this.#on = on;
    this.#job = job;
    const who = { pid: process.pid, startTime: 1, class: "best-effort" as const, name: job.name };
    const client = on.gpu.take(
      { ...defaultApplicant, ...who, share: job.share ?? 1 },
      nanos(on.now),
    );
    const slot = on.gpu.region.memory.bestEffort[client?.slot ?? 0];
    if (!slot) throw new Error("no slot");
    this.#slot = slot.memory;
    slot.memory.movable = 1;
  }

  get state() {
    return this.#slot.parkState;
  }

  step(): void {
    const slot = this.#slot;
    const asked = slot.parkAsked;
    const wished = asked % 2 === 1;
    if (this.#move) this.#finish();
    else if (wished && slot.parkAnswered !== asked) this.#begin(asked);
    else if (!wished && this.state !== parkStates.open) this.#return();
    else if (this.state === parkStates.open) this.#work();
    slot.movableBytes = this.onGpu + this.parked;
    slot.parkedBytes = this.parked;
  }

  #begin(asked: number): void {
    const all = this.onGpu + this.parked;
    const target = this.#slot.parkBytes === 0 ? all : Math.min(all, this.#slot.parkBytes);
    const bytes = Math.max(0, target - this.parked);
    this.#slot.parkState = parkStates.parking;
    this.#move = { to: "parked", bytes, doneAt: this.#on.now + bytes / RATE };
    this.#asked = asked;
  }
  #asked = 0;

  #return(): void {
    this.#slot.parkState = parkStates.returning;
    if (this.#on.free < this.parked) {
      this.#slot.parkReason = "its memory does not fit now";
      return;
    }
    this.#slot.parkReason = "";
    this.onGpu += this.parked;
    this.#move = { to: "open", bytes: this.parked, doneAt: this.#on.now + this.parked / RATE };
    this.parked = 0;
  }

  #finish(): void {
    const move = this.#move;
    if (!move || this.#on.now < move.doneAt) return;
    this.#move = undefined;
    if (move.to === "parked") {
      this.onGpu -= move.bytes;
      this.parked += move.bytes;
      this.#slot.parkAnswered = this.#asked;
    } else {
      this.#slot.returnNs = move.bytes / RATE;
      this.#slot.parkAnswered = this.#slot.parkAsked;
    }
    this.#slot.parkState = parkStates[move.to];
  }

  #work(): void {
    const slot = this.#slot;
    slot.parkAnswered = slot.parkAsked;
    if (this.failed || this.#on.now < 1000 * SECOND + (this.#job.startsAt ?? 0) * SECOND) return;
    for (
      let left = this.#job.gb * GB - this.onGpu;
      left > 0;
      left = this.#job.gb * GB - this.onGpu
    ) {
      const step = Math.min(left, (this.#job.stepGb ?? 1) * GB);
      if (this.#on.free < step) {
        this.#wait(step);
        return;
      }
      this.onGpu += step;
      slot.memoryWanted = 0;
      this.#asksSince = undefined;
    }
    this.ranNs += LOOK;
  }
  #asksSince: number | undefined;

  #wait(bytes: number): void {
    const slot = this.#slot;
    const answer = slot.memoryAnswer;
    const isNew = answer !== this.#answer && answer >>> 24 === TAG;
    this.#answer = answer;
    if ((isNew && (answer & 1) === 1) || this.#asksSince === undefined)
      this.#asksSince = this.#on.now;
    else if (isNew || this.#on.now - this.#asksSince > 5 * SECOND) this.failed = true;
    slot.memoryWanted = this.failed ? 0 : Math.ceil(bytes / 256) * 256 + TAG;
  }
  #answer = 0;

  get wanted(): number {
    return wantedIn(this.#slot).bytes;
  }
}

test("two jobs that do not fit together take turns, and moving takes less than 5 % of the time", () => {
  const gpu = new Gpu(80);
  const one = gpu.add({ name: "one", gb: 55 });
  const other = gpu.add({ name: "other", gb: 55, startsAt: 30, stepGb: 0.02 });
  gpu.run(60);
  const [ranOne, ranOther] = [one.ranNs, other.ranNs];
  gpu.run(600);
  const shares = [one.ranNs - ranOne, other.ranNs - ranOther].map((ns) => ns / (600 * SECOND));
  expect((shares[0] ?? 0) + (shares[1] ?? 0)).toBeGreaterThan(0.95);
  expect(Math.min(...shares)).toBeGreaterThan(0.4);
  expect([one.failed, other.failed]).toEqual([false, false]);
});

test("the first turn is as long as moving what another needs takes, however long a job was there without memory", () => {
  const gpu = new Gpu(80);
  const one = gpu.add({ name: "one", gb: 55 });
  const other = gpu.add({ name: "other", gb: 55, startsAt: 80, stepGb: 0.02 });
  gpu.run(110);
  expect(one.parked).toBeGreaterThan(0);
  expect(other.ranNs).toBeGreaterThan(20 * SECOND);
  // 30 GB at 40 GB/s, there and back, 24 times take 36 s. With all 55 GB it would be 66 s.
  gpu.run(15);
  expect(one.state).toBe(parkStates.open);
});

test("only as much is parked as the other one needs, and half as much again at most", () => {
  const gpu = new Gpu(80);
  const one = gpu.add({ name: "one", gb: 55 });
  gpu.run(100);
  gpu.add({ name: "other", gb: 35, stepGb: 0.02 });
  gpu.run(5);
  expect(one.parked).toBeGreaterThanOrEqual(10 * GB);
  expect(one.parked).toBeLessThan(15 * GB);
});

test("three jobs of which two fit all get their turns", () => {
  const gpu = new Gpu(80);
  const jobs = [30, 35, 40].map((gb, i) => gpu.add({ name: `${i}`, gb, startsAt: 5 * i }));
  gpu.run(900);
  for (const job of jobs) expect(job.ranNs).toBeGreaterThan(200 * SECOND);
  expect(jobs.map(({ failed }) => failed)).toEqual([false, false, false]);
});

test("jobs that block each other while they start do not stand still for ever", () => {
  const gpu = new Gpu(80);
  const jobs = [60, 60].map((gb, i) => gpu.add({ name: `${i}`, gb, stepGb: 0.5 }));
  gpu.run(600);
  for (const job of jobs) expect(job.ranNs).toBeGreaterThan(200 * SECOND);
});

test("jobs that fit are left alone", () => {
  const gpu = new Gpu(80);
  const jobs = [35, 35].map((gb, i) => gpu.add({ name: `${i}`, gb }));
  gpu.run(100);
  expect(gpu.events).toEqual([]);
  for (const job of jobs) expect(job.ranNs).toBeGreaterThan(99 * SECOND);
});

test("a job that is too large for the GPU alone gets the driver's error", () => {
  const gpu = new Gpu(80);
  const one = gpu.add({ name: "one", gb: 20 });
  const large = gpu.add({ name: "large", gb: 90, startsAt: 10 });
  gpu.run(100);
  expect(large.failed).toBe(true);
  expect(one.failed).toBe(false);
});

test("a turn lasts as long as the operator says, times the job's share", () => {
  const gpu = new Gpu(80, 10 * SECOND);
  const jobs = [1, 3].map((share) => gpu.add({ name: `${share}`, gb: 70, share }));
  gpu.run(1000);
  const [small = 0, large = 0] = jobs.map(({ ranNs }) => ranNs);
  expect(large / small).toBeGreaterThan(2.5);
  expect(large / small).toBeLessThan(3.5);
});

test("a job that was parked comes back when the others have ended", () => {
  const gpu = new Gpu(80);
  const one = gpu.add({ name: "one", gb: 55 });
  gpu.run(100);
  const other = gpu.add({ name: "other", gb: 55 });
  gpu.run(5);
  expect(one.parked).toBeGreaterThan(0);
  other.onGpu = 0; // it ends
  gpu.clients.pop();
  const ended = gpu.gpu.clients.find(({ name }) => name === "other");
  if (ended) gpu.gpu.release(ended, nanos(gpu.now));
  gpu.run(2);
  expect(one.state).toBe(parkStates.open);
});
