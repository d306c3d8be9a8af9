// A client may write its own control page and counters, so they prove nothing. Compared are two
// figures that it cannot write: how long high clients held the GPU, as they count it, and how long
// the driver saw kernels of the client run. But the driver ascribes each 200 ms to the one process
// that it finds at an instant (an H200, driver 580), and a long kernel runs on when its hold
// closes. So a comparison only raises suspicion, and a trial confirms it: best-effort work is
// paused for a moment.

interface Job {
  readonly pid: number;
}

type Use = ReadonlyMap<number, number>;

export interface HoldRecord {
  /** Parts of the last second: its kernels ran, and no high client held the GPU. */
  readonly usedShare: number;
  readonly openShare: number;
  readonly trials: number; // `ignored` counts the failed ones
  readonly ignored: number;
}

export interface Ignored<Client> {
  readonly client: Client;
  readonly usedShare: number;
}

const SECOND = 1e9;
const READ_EVERY = SECOND;
/** Chunks end after the hold closes, and minimum progress runs. */
const FORGIVEN = 0.05;
/** A second's samples may be 0.2 s wrong at random. */
const SUSPICIOUS = 0.8 * SECOND;
/** By then queued work has drained, and the driver's samples of the time before have come. */
const DRAINED_AFTER = 0.5 * SECOND;
/** This leaves a whole second of samples. */
const TRIAL = 1.5 * SECOND;
/** One sample of five would be 0.2. */
const RUNS_ON = 0.1;
// A client waits for its next trial: `failed` after a failure, else `first`, doubled by each pass.
const AGAIN = { first: 10 * SECOND, most: 300 * SECOND, failed: 60 * SECOND } as const;

interface Read {
  readonly at: number;
  readonly of: Use;
}

interface Trial {
  readonly since: number;
  from?: Read;
}

interface Suspect {
  usedShare: number;
  openShare: number;
  excess: number;
  trials: number;
  ignored: number;
  wait: number;
  notBefore: number;
}

export class ComplianceChecks<Client extends Job> {
  readonly #suspects = new WeakMap<Client, Suspect>();
  #use: Read | undefined;
  #closed = 0;
  #trial: Trial | undefined;

  get pauses(): boolean {
    return this.#trial !== undefined;
  }

  of(client: Client): HoldRecord | undefined {
    const suspect = this.#suspects.get(client);
    if (!suspect) return undefined;
    const { usedShare, openShare, trials, ignored } = suspect;
    return { usedShare, openShare, trials, ignored };
  }

  /**
   * `closed`: for how many ns high clients held the GPU since the last sample, rather too few than
   * too many. Returns the clients that have just failed a trial.
   */
  look(
    now: number,
    closed: number,
    clients: readonly Client[],
    read: () => Use | undefined,
  ): readonly Ignored<Client>[] {
    if (this.#trial) return this.#goOn(this.#trial, now, clients, read);
    this.#closed += closed;
    const last = this.#use;
    if (last && now - last.at < READ_EVERY) return [];
    const of = read();
    this.#use = of && { at: now, of };
    if (last && of) this.#compare(clients, now - last.at, differences(last.of, of));
    this.#closed = 0;
    if (clients.some((client) => this.#isSuspicious(client, now))) this.#trial = { since: now };
    return [];
  }

  #compare(clients: readonly Client[], span: number, used: Use): void {
    const open = Math.max(0, span - this.#closed);
    for (const client of clients) {
      const suspect = this.#suspects.get(client) ?? newSuspect();
      const own = used.get(client.pid);
      this.#suspects.set(client, suspect);
      if (own === undefined) continue;
      suspect.usedShare = Math.min(1, own / span);
      suspect.openShare = open / span;
      // A client that was not held cannot have ignored a hold.
      if (this.#closed === 0) suspect.excess = 0;
      else suspect.excess = Math.max(0, suspect.excess + own - open - FORGIVEN * span);
    }
  }

  #isSuspicious(client: Client, now: number): boolean {
    const suspect = this.#suspects.get(client);
    return suspect !== undefined && suspect.excess >= SUSPICIOUS && now >= suspect.notBefore;
  }

  #goOn(
    trial: Trial,
    now: number,
    clients: readonly Client[],
    read: () => Use | undefined,
  ): readonly Ignored<Client>[] {
    const passed = now - trial.since;
    if (passed < DRAINED_AFTER) return [];
    if (!trial.from) {
      const of = read();
      if (of) trial.from = { at: now, of };
      else this.#trial = undefined;
      return [];
    }
    if (passed < TRIAL) return [];
    this.#trial = undefined;
    this.#closed = 0;
    const of = read();
    this.#use = of && { at: now, of };
    if (!of) return [];
    const used = differences(trial.from.of, of);
    const span = now - trial.from.at;
    return clients.flatMap((client) =>
      this.#judge(client, now, (used.get(client.pid) ?? 0) / span),
    );
  }

  #judge(client: Client, now: number, usedShare: number): readonly Ignored<Client>[] {
    const suspect = this.#suspects.get(client);
    if (!suspect) return []; // it attached after the trial began
    const runsOn = usedShare > RUNS_ON;
    suspect.trials++;
    if (runsOn) suspect.ignored++;
    if (runsOn || suspect.excess >= SUSPICIOUS) {
      suspect.notBefore = now + (runsOn ? AGAIN.failed : suspect.wait);
      suspect.wait = runsOn ? AGAIN.first : Math.min(AGAIN.most, 2 * suspect.wait);
    }
    suspect.excess = 0;
    return runsOn ? [{ client, usedShare: Math.min(1, usedShare) }] : [];
  }
}

const newSuspect = (): Suspect => ({
  usedShare: 0,
  openShare: 1,
  excess: 0,
  trials: 0,
  ignored: 0,
  wait: AGAIN.first,
  notBefore: 0,
});

const differences = (from: Use, to: Use): Use =>
  new Map([...to].map(([pid, ns]) => [pid, Math.max(0, ns - (from.get(pid) ?? 0))]));
