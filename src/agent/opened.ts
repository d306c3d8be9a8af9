type Undo = () => Promise<void> | void;

/** Resources are closed in the opposite order: at the end, or when the start fails. */
export class Opened {
  readonly #undos: Undo[] = [];

  add(...undos: readonly Undo[]): void {
    this.#undos.push(...undos);
  }

  async close(): Promise<void> {
    for (let undo = this.#undos.pop(); undo; undo = this.#undos.pop()) await undo();
  }
}
