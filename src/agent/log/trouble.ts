// Logs a failure that repeats once for each reason.
import type { Log } from "./log.ts";

export class Trouble {
  readonly #log: Log;
  readonly #event: string;
  #because: string | undefined;

  constructor(log: Log, event: string) {
    this.#log = log;
    this.#event = event;
  }

  /** A try has failed. */
  note(error: unknown): void {
    const because = String(error);
    if (because !== this.#because) this.#log(this.#event, { because });
    this.#because = because;
  }

  /** A try has succeeded. */
  end(): void {
    this.#because = undefined;
  }
}
