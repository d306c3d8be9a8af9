// The user database may be on a network and never answer, and getent is a process for each
// question. So the agent never waits for it, and asks once for each user.
import { execFile, execFileSync } from "node:child_process";
import { printable } from "./processes.ts";

const LONGEST_LOOKUP = 2_000; // ms
const MAX_CONCURRENT = 2;
const MAX_WAITING = 100;
/** Somebody may start clients under many users. */
const MAX_KNOWN = 1_000;

const nameIn = (line: string): string | undefined =>
  printable(line.split(":")[0] ?? "") || undefined;

type LookUp = (uid: number, signal: AbortSignal) => Promise<string | undefined>;

const byGetent: LookUp = (uid, signal) =>
  new Promise((resolve) => {
    const options = { timeout: LONGEST_LOOKUP, signal };
    execFile("getent", ["passwd", `${uid}`], options, (error, line) =>
      resolve(error ? undefined : nameIn(line)),
    );
  });

export class UserNames {
  readonly #lookUp: LookUp;
  readonly #closed = new AbortController();
  readonly #known = new Map<number, string | undefined>(); // the oldest first
  readonly #waiting = new Set<number>();
  #running = 0;

  constructor(lookUp = byGetent) {
    this.#lookUp = lookUp;
  }

  of(uid: number): string | undefined {
    if (!this.#known.has(uid) && this.#waiting.size < MAX_WAITING) {
      this.#waiting.add(uid);
      this.#start();
    }
    return this.#known.get(uid);
  }

  #start(): void {
    for (const uid of this.#waiting) {
      if (this.#running >= MAX_CONCURRENT || this.#closed.signal.aborted) return;
      this.#waiting.delete(uid);
      // The user is known at once, so that the question is not asked again.
      this.#keep(uid, undefined);
      this.#running++;
      void this.#lookUp(uid, this.#closed.signal).then((name) => {
        this.#running--;
        this.#keep(uid, name);
        this.#start();
      });
    }
  }

  #keep(uid: number, name: string | undefined): void {
    this.#known.set(uid, name);
    const [first] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && first !== undefined) this.#known.delete(first);
  }

  close(): void {
    this.#closed.abort();
    this.#waiting.clear();
  }
}

/** A command may wait: after one question without an answer it asks no more. */
export function userNames(): (uid: number) => string | undefined {
  const known = new Map<number, string | undefined>();
  let answers = true;
  const ask = (uid: number) => {
    try {
      const line = execFileSync("getent", ["passwd", `${uid}`], {
        stdio: ["ignore", "pipe", "ignore"],
        timeout: LONGEST_LOOKUP,
      });
      return nameIn(line.toString());
    } catch (error) {
      answers = (error as NodeJS.ErrnoException).code !== "ETIMEDOUT";
      return undefined;
    }
  };
  return (uid) => {
    if (!known.has(uid)) known.set(uid, answers ? ask(uid) : undefined);
    return known.get(uid);
  };
}
