// However the process ends, the terminal is left as it was found.
import { emitKeypressEvents } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import type { Size } from "./model.ts";
import type { Key } from "./press.ts";

const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
const CLEAR = "\x1b[2J";
const CLEAR_LINE_END = "\x1b[K";
const goTo = (row: number) => `\x1b[${row + 1};1H`;

const fallback: Size = { columns: 80, rows: 24 };

export class Screen {
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  readonly #onKey: (key: Key) => void;
  readonly #leave = () => this.#leaveTerminal();
  #entered = false;
  #shown: readonly string[] = [];

  /** `redraw`: the whole screen must be drawn again. */
  constructor(
    input: ReadStream,
    output: WriteStream,
    { onKey, redraw }: { onKey(key: Key): void; redraw(): void },
  ) {
    this.#input = input;
    this.#output = output;
    this.#onKey = onKey;
    emitKeypressEvents(input);
    input.on("keypress", this.#press);
    output.on("resize", () => {
      this.#shown = [];
      redraw();
    });
    process.on("SIGCONT", () => {
      this.#enter();
      redraw();
    });
    process.on("exit", this.#leave);
    // An error is printed after this, where it can be read.
    process.on("uncaughtExceptionMonitor", this.#leave);
    this.#enter();
  }

  get size(): Size {
    const { columns, rows } = this.#output;
    return columns > 0 && rows > 0 ? { columns, rows } : fallback;
  }

  /** Only lines that have changed are written. */
  draw(lines: readonly string[]): void {
    if (!this.#entered) return;
    const from = this.#shown.length === 0 ? CLEAR : "";
    const changed = lines.flatMap((text, row) =>
      text === this.#shown[row] ? [] : [`${goTo(row)}${text}${CLEAR_LINE_END}`],
    );
    if (changed.length > 0) this.#output.write(from + changed.join(""));
    this.#shown = lines;
  }

  close(): void {
    this.#leave();
    this.#input.off("keypress", this.#press);
    this.#input.pause();
  }

  readonly #press = (
    text: string | undefined,
    { name, ctrl }: { name?: string; ctrl?: boolean },
  ) => {
    if (ctrl && name === "z") {
      this.#leave();
      process.kill(process.pid, "SIGTSTP");
    } else this.#onKey({ name, text: text ?? "", ctrl: ctrl ?? false });
  };

  #enter(): void {
    this.#entered = true;
    this.#shown = [];
    this.#input.setRawMode(true);
    this.#output.write(ENTER);
  }

  #leaveTerminal(): void {
    if (!this.#entered) return;
    this.#entered = false;
    this.#input.setRawMode(false);
    this.#output.write(LEAVE);
  }
}
