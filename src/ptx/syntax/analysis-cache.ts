// Trees are immutable, so a result stays valid. A pass that copies a node copies its cache, which
// therefore remembers the part. A WeakMap would keep whole trees alive until V8's next full
// collection.

export class AnalysisCache<Part> {
  #part: Part | undefined;
  #results: Map<(part: Part) => unknown, unknown> | undefined;

  of<Result>(part: Part, analyse: (part: Part) => Result): Result {
    if (this.#part !== part || this.#results === undefined) this.#results = new Map();
    this.#part = part;
    const known = this.#results.get(analyse);
    if (known !== undefined) return known as Result;
    const result = analyse(part);
    this.#results.set(analyse, result);
    return result;
  }
}
