// A word is looked up without being copied. A collision replaces the older word.

/** It has to be a power of two. */
const PLACES = 1 << 12;

/** Longer words are not kept, to bound the memory. No operation is that long. */
const LONGEST = 256;

/** V8 copies slices up to this length; a longer one would keep the whole source alive. */
const COPIED = 12;

export class InternCache<T> {
  readonly #make: (word: string) => T;
  readonly #words: string[] = new Array(PLACES).fill("");
  readonly #made: (T | undefined)[] = new Array(PLACES).fill(undefined);

  constructor(make: (word: string) => T) {
    this.#make = make;
  }

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
