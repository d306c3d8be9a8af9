// Whether the best-effort clients of a GPU heed their holds, in mode isolated. A client may write its own control page, so
// neither that page nor its counters prove anything. Instead, two figures are compared that it cannot write: how long
// the high clients held the GPU, as they count it themselves, and how long the driver saw kernels of the client run.
//
// The comparison alone is not proof. The driver samples: it ascribes each 200 ms of a GPU's use to the one process that
// it finds there at an instant (an H200, driver 580). So a client that runs concurrently with a service with a period of 20 ms may
// be ascribed all of it. A long kernel also runs on when its hold is closed. So a comparison only raises suspicion, and
// a trial confirms it: the agent pauses best-effort work for a moment and looks whether kernels of the client still
// run.

interface Job {
  readonly pid: number;
}

/** GPU time of each process, in cumulative ns by pid. */
type Use = ReadonlyMap<number, number>;

export interface HoldRecord {
  /**
   * Two parts of the last second or so: the part in which its kernels ran, and the part in which no high client held
   * the GPU.
   */
  readonly usedShare: number;
  readonly openShare: number;
  /** The number of trials of the client, and of those in which its kernels ran on. */
  readonly trials: number;
  readonly ignored: number;
}

/** A trial that a client failed. */
export interface Ignored<Client> {
  readonly client: Client;
  /** Part of the trial in which its kernels ran. */
  readonly usedShare: number;
}

const SECOND = 1e9;
const READ_EVERY = SECOND;
/** This much use beyond the open time is allowed: chunks end after the hold closes, and minimum progress runs. */
const FORGIVEN = 0.05;
/** More use than that makes a client suspicious. A second's samples may be 0.2 s wrong at random. */
const SUSPICIOUS = 0.8 * SECOND;
/** By then the queued work has drained, and the driver's samples of the time before have come. */
const DRAINED_AFTER = 0.5 * SECOND;
/** This leaves a whole second of samples. */
const TRIAL = 1.5 * SECOND;
/** Kernels of a client that heeds its hold do not run in a trial. One sample of five would be 0.2. */
const RUNS_ON = 0.1;
/** How long a client waits for its next trial: `failed` after a failure; else `first`, doubled by each pass. */
const AGAIN = { first: 10 * SECOND, most: 300 * SECOND, failed: 60 * SECOND } as const;

interface Read {
  readonly at: number;
  readonly of: Use;
}

interface Trial {
  readonly since: number;
  /** When the queued work had drained. */
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

/** The trials of one GPU. */
export class ComplianceChecks<Client extends Job> {
  readonly #suspects = new WeakMap<Client, Suspect>();
  #use: Read | undefined;
  #closed = 0;
  #trial: Trial | undefined;

  /** Whether best-effort work of this GPU must stand still now. */
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
   * Called a few times a second. `closed`: for how many ns high clients held the GPU since the last sample; if in doubt,
   * too little. `clients`: the best-effort clients. Returns those that have just failed a trial.
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

/** Use of each process between the two readings. A process that is new or has restarted counts from 0. */
const differences = (from: Use, to: Use): Use =>
  new Map([...to].map(([pid, ns]) => [pid, Math.max(0, ns - (from.get(pid) ?? 0))]));
