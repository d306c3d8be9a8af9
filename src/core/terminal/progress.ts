import { truncate } from "./width.ts";

const WORTH_SAYING_S = 5;
const REDRAW_MS = 1000;
const CLEAR_LINE = "\r\x1b[K";

export interface Progress {
  /** `leftS`: seconds until all steps are done, as far as that is known. */
  step(text: string, leftS?: number): void;
  note(text: string): void;
  end(): void;
}

export interface ProgressPlace {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export function progressOf(
  name: string,
  place: ProgressPlace = process.stderr,
  now: () => number = () => performance.now(),
  say: (line: string) => void = (text) => console.error(text),
): Progress {
  const line = (text: string) => `${name}: ${text}`;
  if (!place.isTTY)
    return {
      step: (text) => say(line(text)),
      note: (text) => say(line(text)),
      end: () => {},
    };
  let shown = "";
  let endsAt: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const draw = () => {
    if (shown === "") return;
    const left = endsAt === undefined ? undefined : (endsAt - now()) / 1000;
    const text = left === undefined ? shown : `${shown}, ${leftText(left)}`;
    place.write(`${CLEAR_LINE}${truncate(line(text), (place.columns ?? 80) - 1)}`);
  };
  const began = now();
  return {
    step(text, leftS) {
      shown = text;
      const whole = (now() - began) / 1000 + (leftS ?? 0);
      endsAt = leftS === undefined || whole < WORTH_SAYING_S ? undefined : now() + 1000 * leftS;
      timer ??= setInterval(draw, REDRAW_MS).unref();
      draw();
    },
    note(text) {
      place.write(`${shown === "" ? "" : CLEAR_LINE}${line(text)}\n`);
      draw();
    },
    end() {
      clearInterval(timer);
      if (shown !== "") place.write(CLEAR_LINE);
      shown = "";
    },
  };
}

export function leftText(seconds: number): string {
  if (seconds < 5) return "almost done";
  if (seconds < 90) return `about ${Math.ceil(seconds / 5) * 5} s left`;
  return `about ${Math.round(seconds / 60)} min left`;
}

/** In seconds, for work in equal parts; undefined before the first has ended. */
export function leftOf(
  parts: number,
  now: () => number = () => performance.now(),
): (done: number) => number | undefined {
  const began = now();
  return (done) => (done === 0 ? undefined : (((now() - began) / 1000) * (parts - done)) / done);
}
