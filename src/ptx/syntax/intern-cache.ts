// What was made of words read lately, one object for each. A file says the same few registers, operations and
// numbers again and again; the next word like it is found by its characters in the source, without a copy of them.

/** A power of two. */
const PLACES = 1 << 12;

/** No operation is longer; words of any length could fill the memory. */
const LONGEST = 256;

/** V8 copies a piece of a text up to this length; a longer one is a view, which would keep the whole text alive. */
const COPIED = 12;

export class InternCache<T> {
  readonly #make: (word: string) => T;
  readonly #words: string[] = new Array(PLACES).fill("");
  readonly #made: (T | undefined)[] = new Array(PLACES).fill(undefined);

  constructor(make: (word: string) => T) {
    this.#make = make;
  }

  /** What is made of the characters of `source` from `from` up to before `to`, whose hash is `hash`. */
  of(source: string, from: number, to: number, hash: number): T {
    const place = (hash ^ (hash >>> 12)) & (PLACES - 1);
    const known = this.#made[place];
    if (known !== undefined && stands(this.#words[place] ?? "", source, from, to)) return known;
    const piece = source.slice(from, to);
    if (piece.length > LONGEST) return this.#make(piece);
    const word = piece.length <= COPIED ? piece : Buffer.from(piece, "latin1").toString("latin1");
    const made = this.#make(word);
    this.#words[place] = word;
    this.#made[place] = made;
    return made;
  }
}

function stands(word: string, source: string, from: number, to: number): boolean {
  if (word.length !== to - from) return false;
  for (let i = 0; i < word.length; i += 1)
    if (word.charCodeAt(i) !== source.charCodeAt(from + i)) return false;
  return true;
}
