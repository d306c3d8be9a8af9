// The work that a best-effort client has submitted, and the part that the GPU has certainly done: everything up to the
// last preemption point or mark that it passed. native/interposer/best_effort/marks.cpp does the same for several streams. It is
// written twice because there the GPU writes numbers into memory, and here it calls the client.

/** The most preemption points and marks that the GPU has not reached yet. */
const MARKS = 1024;

export class Outstanding {
  /** Preemption points and marks that the GPU has reached. */
  passed = 0;
  #issued = 0;
  #submittedUs = 0;
  #launches = 0;
  #finishedUs = 0;
  #finishedLaunches = 0;
  /** The work submitted up to each mark. */
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

  /** Called when a preemption point or mark was put behind the submitted work. */
  mark(): void {
    const at = ++this.#issued % MARKS;
    this.#markUs[at] = this.#submittedUs;
    this.#markLaunches[at] = this.#launches;
  }

  /** Called when the GPU reached the next preemption point or mark. */
  reach(): void {
    const at = ++this.passed % MARKS;
    this.#finishedUs = this.#markUs[at] ?? 0;
    this.#finishedLaunches = this.#markLaunches[at] ?? 0;
  }
}
