import { closeSync, openSync, readSync } from "node:fs";

const LOOK_EVERY_MS = 20;
const MAX_CONCURRENT = 1 << 20;

export class Lines {
  readonly #file: number;
  readonly #timer: NodeJS.Timeout;
  readonly #seen: (line: string, atNs: number) => void;
  readonly #now: () => number;
  readonly #buffer = Buffer.alloc(MAX_CONCURRENT);
  #rest = "";

  constructor(path: string, now: () => number, seen: (line: string, atNs: number) => void) {
    this.#file = openSync(path, "r");
    this.#now = now;
    this.#seen = seen;
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS);
  }

  look(): void {
    const atNs = this.#now();
    for (;;) {
      const length = readSync(this.#file, this.#buffer);
      if (length === 0) return;
      // Progress bars end their lines with a carriage return.
      const lines = `${this.#rest}${this.#buffer.toString("utf8", 0, length)}`.split(/\r\n|\r|\n/);
      this.#rest = lines.pop() ?? "";
      for (const line of lines) this.#seen(line, atNs);
    }
  }

  close(): void {
    clearInterval(this.#timer);
    closeSync(this.#file);
  }
}
