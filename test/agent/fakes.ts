// A client of the agent without CUDA, and a clock that is turned by hand.
import { closeSync, mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  descriptorOf,
  type Identity,
  receiveWithDescriptor,
  SharedRegion,
  sendWithDescriptor,
  startTimeOf,
} from "#agent";
import type { Clock, Micros } from "#core";
import {
  type ClientClass,
  classes,
  constants,
  Hello,
  helloKinds,
  messageMagic,
  type View,
  view,
  Welcome,
} from "#protocol";

const gpuA = Uint8Array.from({ length: 16 }, (_, i) => 0xa0 + i);
export const gpuB = Uint8Array.from({ length: 16 }, (_, i) => 0xb0 + i);

/** Who a process of the tests is said to be. */
export const identified = (pid: number, fields: Partial<Identity> = {}): Identity => ({
  pid,
  uid: 1000,
  gid: 1000,
  groups: [],
  cgroup: "/",
  container: undefined,
  pod: undefined,
  unit: undefined,
  slurmJob: undefined,
  onHost: true,
  ...fields,
});

/** A run directory that goes away with the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "cotenant-test-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export interface HelloFields {
  readonly class?: ClientClass;
  readonly kind?: keyof typeof helloKinds;
  readonly name?: string;
  readonly pid?: number;
  readonly startTime?: number;
  readonly slot?: number;
  readonly gpu?: Uint8Array;
  readonly gpuName?: string;
  readonly version?: number;
  readonly magic?: number;
  readonly sloP99Us?: number;
  readonly sloSlowdownPermille?: number;
  readonly soloUs?: number;
  readonly gpuSharePermille?: number;
  readonly training?: number;
  readonly memoryQuota?: number;
}

export function helloBytes(fields: HelloFields): Uint8Array {
  const bytes = new ArrayBuffer(Hello.size);
  const hello = view(Hello, bytes);
  const pid = fields.pid ?? process.pid;
  hello.magic = fields.magic ?? messageMagic;
  hello.version = fields.version ?? constants.VERSION;
  hello.kind = helloKinds[fields.kind ?? "attach"];
  hello.class = classes[fields.class ?? "high"];
  hello.pid = pid;
  hello.startTime = fields.startTime ?? startTimeOf(pid) ?? 1;
  hello.slot = fields.slot ?? -1;
  hello.sloP99Us = fields.sloP99Us ?? 0;
  hello.sloSlowdownPermille = fields.sloSlowdownPermille ?? 0;
  hello.soloUs = fields.soloUs ?? 0;
  hello.gpuSharePermille = fields.gpuSharePermille ?? 0;
  hello.training = fields.training ?? 0;
  hello.memoryQuota = fields.memoryQuota ?? 0;
  hello.gpuUuid.set(fields.gpu ?? gpuA);
  hello.name = fields.name ?? "fake";
  hello.gpuName = fields.gpuName ?? "Fake GPU";
  hello.smCount = 132;
  return new Uint8Array(bytes);
}

export interface FakeClient {
  readonly welcome: View<typeof Welcome>;
  /** What came with it; the test's from now on. */
  readonly descriptor: number | undefined;
  /** Maps the region of the welcome, as the interposer does. */
  region(): SharedRegion;
  /** The agent has closed the connection. */
  readonly closed: Promise<void>;
  hangUp(): void;
}

/** Connects, says `bytes`, with a descriptor if one is given, and waits for the whole answer. */
export async function say(
  socketPath: string,
  bytes: Uint8Array,
  passed?: number,
): Promise<FakeClient> {
  const socket = await dial(socketPath, bytes, passed);
  onTestFinished(() => void socket.destroy());
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  const { welcome, descriptor } = await listenTo(socket);
  return {
    welcome,
    descriptor,
    closed,
    region() {
      if (descriptor === undefined) throw new Error("no region came");
      return new SharedRegion(descriptor);
    },
    hangUp() {
      socket.destroy();
      if (descriptor !== undefined) closeSync(descriptor);
    },
  };
}

export interface AttachFields extends HelloFields {
  /** A descriptor to send along. */
  readonly passed?: number;
}

export const attach = (
  socketPath: string,
  { passed, ...fields }: AttachFields = {},
): Promise<FakeClient> => say(socketPath, helloBytes(fields), passed);

/** A connection that has said `bytes`, and is not read yet. */
export function dial(socketPath: string, bytes: Uint8Array, passed?: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    socket.pause(); // Node's own reads would drop the descriptor
    socket.on("error", reject);
    socket.on("connect", () => {
      if (passed === undefined) socket.write(bytes);
      else if (!sendWithDescriptor(descriptorOf(socket), bytes, passed))
        return reject(new Error("the Hello could not be sent"));
      resolve(socket);
    });
  });
}

/** The answer that comes to it, and what came along. The connection is read from then on, for its end. */
export async function listenTo(socket: Socket) {
  const bytes = new Uint8Array(Welcome.size);
  let descriptor: number | undefined;
  for (let size = 0; size < bytes.length; ) {
    const got = receiveWithDescriptor(descriptorOf(socket), bytes.subarray(size));
    if (got?.size === 0) {
      socket.resume();
      throw new Error(`closed after ${size} bytes`);
    }
    size += got?.size ?? 0;
    descriptor ??= got?.descriptor;
    if (!got) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  socket.resume();
  return { welcome: view(Welcome, bytes.buffer), descriptor };
}

/** Time passes only in `advance`, and what falls due in it runs in order. */
export class HandClock implements Clock {
  #now = 1e9;
  #due: { at: number; period: number; run: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  every(period: Micros, run: () => void): () => void {
    return this.#add(period * 1000, period * 1000, run);
  }

  after(delay: Micros, run: () => void): () => void {
    return this.#add(delay * 1000, 0, run);
  }

  /** How many runs are due some time. */
  get pending(): number {
    return this.#due.length;
  }

  advance(by: Micros): void {
    const until = this.#now + by * 1000;
    for (;;) {
      const next = this.#due.toSorted((a, b) => a.at - b.at)[0];
      if (!next || next.at > until) break;
      this.#now = next.at;
      if (next.period > 0) next.at += next.period;
      else this.#due = this.#due.filter((entry) => entry !== next);
      next.run();
    }
    this.#now = until;
  }

  #add(delay: number, period: number, run: () => void): () => void {
    const entry = { at: this.#now + delay, period, run };
    this.#due.push(entry);
    return () => {
      this.#due = this.#due.filter((other) => other !== entry);
    };
  }
}

/** Looks again until it holds; for what crosses processes and has no promise. */
export async function eventually(holds: () => boolean, withinMs = 300_000): Promise<void> {
  const until = Date.now() + withinMs;
  while (!holds()) {
    if (Date.now() > until) throw new Error(`not within ${withinMs} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
