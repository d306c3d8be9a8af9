// Runs programs natively and under the interposer, and says where the two differ.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { type Wishes, written } from "./generate.ts";

const build = resolve("build/native");
const roles = ["native", "high", "best-effort"] as const;
type Role = (typeof roles)[number];

/** The outcome of one run; see print() in main.cpp. */
interface Outcome {
  readonly status: number;
  readonly stuck: number;
  /** How often it asked the agent, which in a busy machine may be too late for it. */
  readonly asked: number;
  readonly owedUs: number;
  readonly loadUs: number;
  readonly codes: readonly number[];
  readonly us: readonly number[];
  readonly calls: readonly string[];
  readonly digests: readonly string[];
  /** On stderr. */
  readonly said: string;
}

/** A call may take this much longer than natively, beside what the gate owes it and what the machine's load takes. */
const MORE_US = 100_000;
/** Servers hold a descriptor for each program they ran. */
const PROGRAMS_A_SERVER = 200;

class Server {
  readonly #role: Role;
  readonly #directory = mkdtempSync(join(tmpdir(), "cotenant-programs-"));
  #process: ChildProcessWithoutNullStreams | undefined;
  #answers: AsyncIterator<string> | undefined;
  #served = 0;
  #said = "";

  constructor(role: Role) {
    this.#role = role;
  }

  #start(): ChildProcessWithoutNullStreams {
    const started = spawn(`${build}/tests/programs/run`, [this.#role], {
      env: {
        PATH: process.env.PATH ?? "",
        ...(process.env.COTENANT_REAL_DRIVER ? {} : { LD_LIBRARY_PATH: `${build}/softgpu` }),
        COTENANT_SOFTGPU_DIR: this.#directory,
        ...(process.env.COTENANT_REAL_DRIVER ? {} : { COTENANT_TEST_COPY: this.#copy() }),
        ...(this.#role === "native" ? {} : { LD_PRELOAD: `${build}/libcotenant.so` }),
      },
    });
    started.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#said += text;
    });
    started.stdin.on("error", () => {}); // it has ended; that no answer comes says so
    this.#answers = createInterface({ input: started.stdout })[Symbol.asyncIterator]();
    this.#served = 0;
    return started;
  }

  /** Another file with the driver. */
  #copy(): string {
    const folder = join(this.#directory, "copy");
    mkdirSync(folder, { recursive: true });
    const copy = join(folder, "libcuda.so.1");
    copyFileSync(`${build}/softgpu/libcuda.so.1`, copy);
    return copy;
  }

  async run(request: string): Promise<Outcome> {
    if (this.#served++ >= PROGRAMS_A_SERVER) this.#stop();
    this.#process ??= this.#start();
    this.#said = "";
    this.#process.stdin.write(request);
    const answer = await this.#answers?.next();
    if (!answer || answer.done) throw new Error(`no answer to:\n${request}${this.#said}`);
    return { ...(JSON.parse(answer.value) as Outcome), said: this.#said };
  }

  #stop(): void {
    this.#process?.stdin.end();
    this.#process = undefined;
  }

  close(): void {
    this.#stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

export class ProgramMachine {
  readonly #servers = new Map(roles.map((role) => [role, new Server(role)]));

  async #run(
    role: Role,
    { isolated, copy, aheadUs, bursts, burstUs, gapUs }: Wishes,
    lines: readonly string[],
  ): Promise<Outcome> {
    const server = this.#servers.get(role);
    if (!server) throw new Error(role);
    const head = `PROGRAM ${lines.length} ${isolated ? 1 : 0} ${copy ? 1 : 0} ${aheadUs} ${role === "best-effort" ? bursts : 0} ${burstUs} ${gapUs}`;
    for (let again = 0; ; again++) {
      const outcome = await server.run(`${[head, ...lines].join("\n")}\n`);
      const withoutAgent =
        role !== "native" && (outcome.asked === 0 || /no agent/.test(outcome.said));
      if (!withoutAgent || again === 20) return outcome;
    }
  }

  /** Returns the fault of this program's run under the interposer; undefined: none. */
  async fault(wishes: Wishes): Promise<string | undefined> {
    const lines = written(wishes);
    const native = await this.#run("native", wishes, lines);
    const illegal = nativeFault(native, lines);
    if (illegal) return `not a legal program: ${illegal}`;
    for (const role of roles.slice(1)) {
      const fault = difference(native, await this.#run(role, wishes, lines), lines);
      if (!fault) continue;
      if (!fault.slow) return `${role}: ${fault.text}`;
      // Seen twice more, beside a native run of the same moment: then it is not the machine.
      for (let again = 0; ; again++) {
        if (again === 2) return `${role}: ${fault.text}`;
        const [beside, once] = [
          await this.#run("native", wishes, lines),
          await this.#run(role, wishes, lines),
        ];
        if (!difference(beside, once, lines)) break;
      }
    }
    return undefined;
  }

  close(): void {
    for (const server of this.#servers.values()) server.close();
  }
}

function nativeFault(
  { status, stuck, codes, said }: Outcome,
  lines: readonly string[],
): string | undefined {
  if (stuck >= 0) return `it is stuck: ${lines[stuck] ?? "as it ends"}`;
  if (status !== 0) return `it ended with ${status} ${said}`;
  const wrong = lines.findIndex((line, i) => {
    const [, operation] = line.split(" ");
    return operation !== "barrier" && (codes[i] === 0) === (operation === "refused");
  });
  return wrong < 0 ? undefined : `${lines[wrong]} (line ${wrong}) gives ${codes[wrong]}`;
}

function difference(
  native: Outcome,
  ours: Outcome,
  lines: readonly string[],
): { text: string; slow: boolean } | undefined {
  const said = (text: string, slow = false) => ({ text, slow });
  if (ours.stuck >= 0)
    return said(
      `stuck: ${lines[ours.stuck] ?? "as it ends"} (line ${ours.stuck})`,
      ours.loadUs > MORE_US,
    );
  if (ours.asked === 0) return said("it never asked the agent, so it was no client");
  if (ours.status !== native.status) return said(`it ended with ${ours.status} ${ours.said}`);
  for (const [i, line] of lines.entries())
    if (ours.codes[i] !== native.codes[i])
      return said(`${line} (line ${i}) gives ${ours.codes[i]}, natively ${native.codes[i]}`);
  for (const [lane, calls] of native.calls.entries())
    if (ours.calls[lane] !== calls)
      return said(
        `the host functions of stream ${lane} saw ${ours.calls[lane]}, natively ${calls}`,
      );
  for (const [i, digest] of native.digests.entries())
    if (ours.digests[i] !== digest) return said(`what line "show … ${i}" shows differs`);
  for (const [i, line] of lines.entries()) {
    const more = (ours.us[i] ?? 0) - (native.us[i] ?? 0) - ours.owedUs - ours.loadUs;
    if (more > MORE_US)
      return said(
        `${line} (line ${i}) takes ${ours.us[i]} us, natively ${native.us[i]}, owed ${ours.owedUs}, load ${ours.loadUs}`,
        true,
      );
  }
  return undefined;
}
