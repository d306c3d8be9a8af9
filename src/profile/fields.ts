// Reads a value out of parsed JSON, field by field. What does not fit is a UserError that names the file, the line
// and the field as one would write it: kernels[3].durationNs.p50.
import { badProfile } from "./faults.ts";
import { shownPath } from "./json.ts";

export class Field {
  readonly file: string;
  readonly path: string;
  readonly value: unknown;
  readonly #lineOf: (path: string) => number;

  constructor(file: string, path: string, value: unknown, lineOf: (path: string) => number) {
    this.file = file;
    this.path = path;
    this.value = value;
    this.#lineOf = lineOf;
  }

  bad(what: string) {
    const place = this.path && `line ${this.#lineOf(this.path)}, ${shownPath(this.path)}`;
    return badProfile(this.file, place, what);
  }

  /** The value, for a message. */
  get brief(): string {
    const { value } = this;
    if (Array.isArray(value)) return "a list";
    if (typeof value === "object" && value !== null) return "an object";
    return JSON.stringify(value).slice(0, 60);
  }

  get missing(): boolean {
    return this.value === undefined;
  }

  /** A field of this object; its value is undefined if it is not there. */
  at(name: string): Field {
    const path = this.path ? `${this.path}.${name}` : name;
    return new Field(this.file, path, this.object()[name], this.#lineOf);
  }

  object(): Readonly<Record<string, unknown>> {
    const { value } = this;
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Readonly<Record<string, unknown>>;
    throw this.#not("an object");
  }

  /** An object with no other fields than these. */
  only(names: readonly string[]): this {
    const stray = Object.keys(this.object()).find((name) => !names.includes(name));
    if (stray !== undefined) throw this.at(stray).bad("does not belong there.");
    return this;
  }

  list(): readonly Field[] {
    if (!Array.isArray(this.value)) throw this.#not("a list");
    return this.value.map(
      (one, i) => new Field(this.file, `${this.path}[${i}]`, one, this.#lineOf),
    );
  }

  text(): string {
    if (typeof this.value === "string" && this.value !== "") return this.value;
    throw this.#not("a text");
  }

  one<T extends string>(known: readonly T[]): T {
    const found = known.find((one) => one === this.value);
    if (found !== undefined) return found;
    throw this.#not(`one of ${known.join(", ")}`);
  }

  /** Not negative. */
  number(): number {
    if (typeof this.value === "number" && this.value >= 0 && Number.isFinite(this.value))
      return this.value;
    throw this.#not("a number of 0 or more");
  }

  whole(least: number): number {
    if (Number.isSafeInteger(this.value) && Number(this.value) >= least) return Number(this.value);
    throw this.#not(`a whole number of ${least} or more`);
  }

  ratio(): number {
    const number = this.number();
    if (number <= 1) return number;
    throw this.#not("between 0 and 1");
  }

  #not(wanted: string) {
    const subject = this.path ? "is" : "it is";
    return this.bad(
      this.missing ? `${subject} missing.` : `${subject} ${this.brief}, not ${wanted}.`,
    );
  }
}
