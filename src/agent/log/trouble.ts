import type { Log } from "./log.ts";

export class Trouble {
  readonly #log: Log;
  readonly #event: string;
  #because: string | undefined;

  constructor(log: Log, event: string) {
    this.#log = log;
    this.#event = event;
  }

  note(error: unknown): void {
    const because = String(error);
    if (because !== this.#because) this.#log(this.#event, { because });
    this.#because = because;
  }

  end(): void {
    this.#because = undefined;
  }
}
