// The bench's side of the control files, which tell running jobs what to do next and hold their answers.
// `workloads/README.md` describes the files. Times are CLOCK_MONOTONIC in ns.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { pidNamespace } from "#agent";
import type { Phase } from "#load";

export interface Answer {
  readonly arrival_ns?: readonly number[];
  readonly latency_ns?: readonly number[];
  readonly service_ns?: readonly number[];
  readonly waited_ns?: readonly number[];
  readonly first_ns?: readonly number[];
  readonly tokens?: readonly number[];
  readonly done_ns?: readonly number[];
}

export class Control {
  readonly directory: string;
  #id = 0;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Says what every job does until the next call. */
  begin(jobs: Phase["jobs"], startNs: number, seconds: number): number {
    return this.#write({ start_ns: startNs, seconds, jobs, quit: false });
  }

  idle(): void {
    this.begin({}, 0, 0);
  }

  quit(): void {
    this.#write({ start_ns: 0, seconds: 0, jobs: {}, quit: true });
  }

  /** A job's report when it was ready; undefined until then. */
  readiness(job: string): Readonly<Record<string, unknown>> | undefined {
    return this.#read(`${job}.ready`) as Readonly<Record<string, unknown>> | undefined;
  }

  /** A job of the same name in an earlier wave may have left its file. */
  forget(jobs: readonly string[]): void {
    for (const job of jobs) rmSync(`${this.directory}/${job}.ready`, { force: true });
  }

  answer(job: string, id: number): Answer | undefined {
    return this.#read(`${job}.${id}.json`) as Answer | undefined;
  }

  #write(phase: Omit<Phase, "id">): number {
    const id = this.#id++;
    // The file is replaced atomically, because a job may read it at any time.
    writeFileSync(
      `${this.directory}/phase.new`,
      JSON.stringify({ id, pid: process.pid, pid_namespace: pidNamespace(), ...phase }),
    );
    renameSync(`${this.directory}/phase.new`, `${this.directory}/phase`);
    return id;
  }

  #read(file: string): unknown {
    const path = `${this.directory}/${file}`;
    return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
  }
}
