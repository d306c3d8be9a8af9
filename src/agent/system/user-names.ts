// The names of users, by the machine's user database. That may be on a network and never answer, and getent is a process for
// each question: so the agent never waits for it, asks once for each user, and asks a few at a time.
import { execFile, execFileSync } from "node:child_process";
import { printable } from "./processes.ts";

const LONGEST_LOOKUP = 2_000; // ms
const MOST_AT_ONCE = 2;
const MOST_WAITING = 100;
/** Whoever may start clients under many users costs no more memory than this. */
const MOST_KNOWN = 1_000;

/** Of a line of passwd(5). */
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
  /** undefined: it has none, or nobody says it. The one that was found out first comes first. */
  readonly #known = new Map<number, string | undefined>();
  readonly #waiting = new Set<number>();
  #running = 0;

  constructor(lookUp = byGetent) {
    this.#lookUp = lookUp;
  }

  /** undefined: it has none, or it is not known yet. Then it is looked up, and known at a later call. */
  of(uid: number): string | undefined {
    if (!this.#known.has(uid) && this.#waiting.size < MOST_WAITING) {
      this.#waiting.add(uid);
      this.#start();
    }
    return this.#known.get(uid);
  }

  #start(): void {
    for (const uid of this.#waiting) {
      if (this.#running >= MOST_AT_ONCE || this.#closed.signal.aborted) return;
      this.#waiting.delete(uid);
      // Until the answer comes, so that nobody asks again.
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
    if (this.#known.size > MOST_KNOWN && first !== undefined) this.#known.delete(first);
  }

  close(): void {
    this.#closed.abort();
    this.#waiting.clear();
  }
}

/** For a command, which may wait. After a question that was not answered in time it asks nothing more. */
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
