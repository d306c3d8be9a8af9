// Results of analyses, kept in the tree that they describe. Trees are immutable, so a result stays valid. A pass that
// copies a node and replaces a part of it copies the cache too; the cache therefore remembers which part its results
// belong to. A WeakMap would keep the results, and through them whole trees, alive until V8's next full collection.

export class AnalysisCache<Part> {
  #part: Part | undefined;
  #results: Map<(part: Part) => unknown, unknown> | undefined;

  /** The result of `analyse` on the part; each analysis runs once. */
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
