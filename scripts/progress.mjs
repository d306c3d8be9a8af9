// Progress of the setup: on a terminal one line that changes, elsewhere one line a step.

/** Shorter than this, there is nothing to wait for. */
const SHORT_S = 5;

const seconds = (s) => (s < 90 ? `${Math.ceil(s)} s` : `${Math.ceil(s / 60)} min`);

export class Progress {
  #lanes;
  #out;
  #now;
  #started;
  /** When each step began, what it has made since, and whether it is done. */
  #begun = new Map();

  /**
   * `lanes` go on side by side, the steps of a lane one after the other. A step has a name, the seconds that it should
   * take, and how many files it makes, if that is known.
   */
  constructor(lanes, out, now) {
    this.#lanes = lanes;
    this.#out = out;
    this.#now = now;
    this.#started = now();
    const total = this.#left();
    if (total >= SHORT_S) out.write(`setup: this takes about ${seconds(total)}, once.\n`);
  }

  begin(step) {
    this.#begun.set(step, { at: this.#now(), made: 0, done: false });
    if (this.#out.isTTY) this.show();
    else this.#out.write(`${this.#line([step])}\n`);
  }

  /** Notes how many files of this step have been made or begun. */
  made(step, count) {
    this.#begun.get(step).made = count;
  }

  done(step) {
    this.#begun.get(step).done = true;
  }

  show() {
    if (!this.#out.isTTY) return;
    const running = [...this.#begun].flatMap(([step, { done }]) => (done ? [] : [step]));
    this.#out.write(`\r\x1b[K${this.#line(running).slice(0, (this.#out.columns || 80) - 1)}`);
  }

  clear() {
    if (this.#out.isTTY) this.#out.write("\r\x1b[K");
  }

  end() {
    this.clear();
    this.#out.write(`setup: done in ${seconds(this.#now() - this.#started)}.\n`);
  }

  /** The times come first: a narrow terminal cuts the end off. */
  #line(steps) {
    const left = this.#left();
    const named = steps.map((step) =>
      step.files
        ? `${step.name} (${this.#begun.get(step).made} of ${step.files} files)`
        : step.name,
    );
    return [
      `setup: ${Math.floor(this.#now() - this.#started)} s so far`,
      `${left > 0 ? `about ${seconds(left)} left` : "longer than expected"}: ${named.join(", ")}`,
    ].join(", ");
  }

  #left() {
    return Math.max(
      ...this.#lanes.map((lane) => lane.reduce((sum, step) => sum + this.#leftOf(step), 0)),
    );
  }

  /** By its own pace, as soon as that is known; before, as was expected. */
  #leftOf(step) {
    const begun = this.#begun.get(step);
    if (!begun) return step.seconds;
    if (begun.done) return 0;
    const spent = this.#now() - begun.at;
    const known =
      step.files && begun.made > step.files / 10 ? (spent * step.files) / begun.made : step.seconds;
    return Math.max(known - spent, 0);
  }
}
