// What setup says while it works: on a terminal one line that changes, elsewhere one line a step.

/** Shorter than this, there is nothing to wait for. */
const SHORT_S = 5;

const seconds = (s) => (s < 90 ? `${Math.ceil(s)} s` : `${Math.ceil(s / 60)} min`);

export class Progress {
  #steps;
  #out;
  #now;
  #started;
  #at = -1;
  #stepStarted = 0;
  #made = 0;

  /** `steps`: each a name, the seconds that it should take, and how many files it makes, if that is known. */
  constructor(steps, out, now) {
    this.#steps = steps;
    this.#out = out;
    this.#now = now;
    this.#started = now();
    const total = steps.reduce((sum, step) => sum + step.seconds, 0);
    if (total >= SHORT_S) out.write(`setup: this takes about ${seconds(total)}, once.\n`);
  }

  begin(step) {
    this.#at = this.#steps.indexOf(step);
    this.#stepStarted = this.#now();
    this.#made = 0;
    if (this.#out.isTTY) this.show();
    else this.#out.write(`${this.#line()}\n`);
  }

  /** So many files of this step have been made or begun. */
  made(count) {
    this.#made = count;
  }

  show() {
    if (this.#out.isTTY)
      this.#out.write(`\r\x1b[K${this.#line().slice(0, (this.#out.columns || 80) - 1)}`);
  }

  clear() {
    if (this.#out.isTTY) this.#out.write("\r\x1b[K");
  }

  end() {
    this.clear();
    this.#out.write(`setup: done in ${seconds(this.#now() - this.#started)}.\n`);
  }

  #line() {
    const { name, files } = this.#steps[this.#at];
    const counted = files ? ` (${this.#made} of ${files} files)` : "";
    const left = this.#left();
    return [
      `setup: ${this.#at + 1} of ${this.#steps.length}, ${name}${counted}`,
      `${Math.floor(this.#now() - this.#started)} s so far`,
      left > 0 ? `about ${seconds(left)} left` : "longer than expected",
    ].join(", ");
  }

  /** Of this step by its own pace, as soon as that is known; of the later ones as was expected. */
  #left() {
    const { seconds: expected, files } = this.#steps[this.#at];
    const spent = this.#now() - this.#stepStarted;
    const known = files && this.#made > files / 10 ? (spent * files) / this.#made : expected;
    const later = this.#steps.slice(this.#at + 1).reduce((sum, step) => sum + step.seconds, 0);
    return Math.max(known - spent, 0) + later;
  }
}
