// A client of the agent without CUDA, a clock that is turned by hand, and a sensor that sees nothing.
import { closeSync, mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  descriptorOf,
  type Identity,
  receiveWithDescriptors,
  type Sensor,
  sendWithDescriptors,
  startTimeOf,
} from "#agent";
import { type Clock, type Micros, type Nanos, nanos } from "#core";
import {
  type ClientClass,
  classes,
  constants,
  Hello,
  helloKinds,
  messageMagic,
  NewHold,
  type Region,
  type View,
  view,
  Welcome,
} from "#protocol";
import { regionBy } from "./region.ts";

const unknown = () => undefined;

/** A driver that tells nothing of any GPU. */
export const blindSensor: Sensor = {
  read: () => [],
  vitals: () => [],
  use: unknown,
  free: unknown,
  knows: () => true,
};

export const gpuA = Uint8Array.from({ length: 16 }, (_, i) => 0xa0 + i);
export const gpuB = Uint8Array.from({ length: 16 }, (_, i) => 0xb0 + i);

/** The identity that a process of the tests has. */
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
  readonly gpuIndex?: number;
  readonly gpuName?: string;
  readonly version?: number;
  readonly magic?: number;
  readonly sloP99Us?: number;
  readonly sloSlowdownPermille?: number;
  readonly sloTtftUs?: number;
  readonly slo?: string;
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
  hello.gpuIndex = fields.gpuIndex ?? 0;
  hello.sloP99Us = fields.sloP99Us ?? 0;
  hello.sloSlowdownPermille = fields.sloSlowdownPermille ?? 0;
  hello.sloTtftUs = fields.sloTtftUs ?? 0;
  hello.slo = fields.slo ?? "";
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
  /** Descriptors that came with it; the test closes them. */
  readonly files: readonly number[];
  /** The memory that came, mapped as the interposer maps it. */
  memory(): View<typeof Region>;
  /** The agent has closed the connection. */
  readonly closed: Promise<void>;
  hangUp(): void;
}

/** Connects, says `bytes`, with descriptors if some are given, and waits for the whole answer. */
export async function say(
  socketPath: string,
  bytes: Uint8Array,
  { passed = [], confirms = true }: Pick<AttachFields, "passed" | "confirms"> = {},
): Promise<FakeClient> {
  const socket = await dial(socketPath, bytes, passed);
  onTestFinished(() => void socket.destroy());
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  const { welcome, files } = await listenTo(socket);
  const isHigh =
    bytes.length === Hello.size && view(Hello, bytes.slice().buffer).class === classes.high;
  const memory = () => regionBy(welcome, isHigh ? "high" : "best-effort", files);
  if (isHigh && confirms && files.length > 1) {
    const own = memory().high[welcome.slot];
    if (own) own.holdsVersion = 2 ** 32 - 1;
  }
  return {
    welcome,
    files,
    closed,
    memory,
    hangUp() {
      socket.destroy();
      for (const fd of files) closeSync(fd);
    },
  };
}

export interface AttachFields extends HelloFields {
  /** Descriptors to send along. */
  readonly passed?: readonly number[];
  /** A high client seems to have mapped every control page that it will be sent. False: it seems to be stopped. */
  readonly confirms?: boolean;
}

export const attach = (
  socketPath: string,
  { passed = [], confirms = true, ...fields }: AttachFields = {},
): Promise<FakeClient> => say(socketPath, helloBytes(fields), { passed, confirms });

/** A connection that has said `bytes`, and is not read yet. */
export function dial(
  socketPath: string,
  bytes: Uint8Array,
  passed: readonly number[] = [],
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    socket.pause(); // Node's own reads would drop the descriptor
    socket.on("error", reject);
    socket.on("connect", () => {
      if (passed.length === 0) socket.write(bytes);
      else if (!sendWithDescriptors(descriptorOf(socket), bytes, passed))
        return reject(new Error("the Hello could not be sent"));
      resolve(socket);
    });
  });
}

/** The answer that comes to it, and what came along. The connection is read from then on, for its end, unless more is to come. */
export async function listenTo(socket: Socket, more?: "and goes on listening") {
  const bytes = new Uint8Array(Welcome.size);
  const files: number[] = [];
  for (let size = 0; size < bytes.length; ) {
    const got = receiveWithDescriptors(descriptorOf(socket), bytes.subarray(size), 20);
    if (got?.size === 0) {
      socket.resume();
      throw new Error(`closed after ${size} bytes`);
    }
    size += got?.size ?? 0;
    files.push(...(got?.descriptors ?? []));
    if (!got) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  if (!more) socket.resume();
  return { welcome: view(Welcome, bytes.buffer), files };
}

/** The next control page that comes to a high client. */
export async function newHold(socket: Socket) {
  const bytes = new Uint8Array(NewHold.size);
  let got = receiveWithDescriptors(descriptorOf(socket), bytes, 20);
  while (!got) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    got = receiveWithDescriptors(descriptorOf(socket), bytes, 20);
  }
  return { message: view(NewHold, bytes.buffer), page: got.descriptors[0] ?? -1 };
}

/** Time passes only in `advance`, and what falls due in it runs in order. */
export class HandClock implements Clock {
  #now = 1e9;
  #due: { at: number; period: number; run: () => void }[] = [];

  now(): Nanos {
    return nanos(this.#now);
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
