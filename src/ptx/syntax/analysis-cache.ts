// What an analysis has found of a part of a tree, kept in the tree. Trees are immutable, so it stays true; a pass
// that copies a node with another part copies this too, and so it says which part it is about. It is no WeakMap:
// that would hold its values, and so whole trees, until V8's next full collection.

export class Findings<Part, Finding> {
  #part: Part | undefined;
  #finding: Finding | undefined;

  /** What `find` finds of the part, found once. */
  of(part: Part, find: (part: Part) => Finding): Finding {
    if (this.#finding !== undefined && this.#part === part) return this.#finding;
    const finding = find(part);
    this.#part = part;
    this.#finding = finding;
    return finding;
  }
}
