// The work that a best-effort client has submitted, and the part of it that the GPU is known to have done: everything
// up to the last border or mark that the GPU reached. native/interposer/best_effort/marks.cpp does the same for several
// streams; it stands twice because the GPU writes numbers into memory there and calls the client here.

/** Borders and marks that the GPU has not come to, at most. */
const MARKS = 1024;

export class Outstanding {
  /** Borders and marks that the GPU has come to. */
  passed = 0;
  #issued = 0;
  #submittedUs = 0;
  #launches = 0;
  #finishedUs = 0;
  #finishedLaunches = 0;
  /** Submitted up to each mark. */
  readonly #markUs = new Float64Array(MARKS);
  readonly #markLaunches = new Float64Array(MARKS);

  get us(): number {
    return this.#submittedUs - this.#finishedUs;
  }

  get launches(): number {
    return this.#launches - this.#finishedLaunches;
  }

  add(us: number): void {
    this.#submittedUs += us;
    this.#launches++;
  }

  /** A border or mark was put behind what was submitted. */
  mark(): void {
    const at = ++this.#issued % MARKS;
    this.#markUs[at] = this.#submittedUs;
    this.#markLaunches[at] = this.#launches;
  }

  /** The GPU came to the next one. */
  reach(): void {
    const at = ++this.passed % MARKS;
    this.#finishedUs = this.#markUs[at] ?? 0;
    this.#finishedLaunches = this.#markLaunches[at] ?? 0;
  }
}
