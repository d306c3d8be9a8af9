// A wrong field is a UserError with the file, the line and the field: kernels[3].durationNs.p50.
import type { UserError } from "./errors.ts";
import { inMessage, parseJson } from "./json.ts";
import { similar } from "./names/similar.ts";

/** `place`: a line, a field, or both; empty for the file as a whole. */
export type Refusal = (file: string, place: string, what: string, hint?: string) => UserError;

export const withPlace = (file: string, place: string, what: string): string =>
  `${[file, place].filter(Boolean).join(", ")}: ${what}`;

export function readJson(text: string, file: string, refuse: Refusal): Field {
  const parsed = parseJson(text);
  if (parsed.ok) return new Field(parsed.value, file, refuse, parsed.lineOf);
  const place = [`line ${parsed.line}`, parsed.field].filter(Boolean).join(", ");
  throw refuse(file, place, parsed.why, otherKind(text, file));
}

function otherKind(text: string, file: string): string | undefined {
  const head = text.slice(0, 4096);
  if (file.endsWith(".onnx"))
    return `It seems to be an ONNX model: "cotenant-lab soc groups ${file}" reads it.`;
  if (head.includes("\0")) return "It is no text.";
  const [first = "", second = ""] = head.split(/\r?\n/);
  const columns = first.split(",").length;
  const isTable = columns > 1 && !/[{}[\]"]/.test(first) && second.split(",").length === columns;
  return isTable
    ? "It seems to be a table (CSV): a scenario names it as its trace of jobs (docs/guide/cluster.md)."
    : undefined;
}

interface Bounds {
  readonly least?: number; // 0 unless given; -Infinity for any number
  readonly above?: number; // replaces `least`: the number is greater
  readonly most?: number;
  readonly whole?: boolean;
}

export class Field {
  readonly path: string;
  readonly value: unknown;
  readonly #file: string;
  readonly #refuse: Refusal;
  readonly #lineOf: ((path: string) => number) | undefined;

  constructor(
    value: unknown,
    file: string,
    refuse: Refusal,
    lineOf?: (path: string) => number,
    path = "",
  ) {
    this.value = value;
    this.path = path;
    this.#file = file;
    this.#refuse = refuse;
    this.#lineOf = lineOf;
  }

  bad(what: string, hint = ""): UserError {
    return this.#refuse(this.#file, this.#inFile, what, hint);
  }

  get place(): string {
    return [this.#file, this.#inFile].filter(Boolean).join(", ");
  }

  get #inFile(): string {
    const line = this.path && this.#lineOf ? `line ${this.#lineOf(this.path)}` : "";
    return [line, inMessage(this.path)].filter(Boolean).join(", ");
  }

  not(wanted: string, hint = ""): UserError {
    const subject = this.path ? "is" : "it is";
    return this.bad(
      this.missing ? `${subject} missing.` : `${subject} ${this.brief}, not ${wanted}.`,
      hint,
    );
  }

  /** 1e999 is read as Infinity, which JSON.stringify would write as null. */
  get brief(): string {
    const { value } = this;
    if (Array.isArray(value)) return "a list";
    if (typeof value === "object" && value !== null) return "an object";
    if (typeof value === "number") return `${value}`;
    return JSON.stringify(value)?.slice(0, 60) ?? "missing";
  }

  get missing(): boolean {
    return this.value === undefined;
  }

  or(value: unknown): Field {
    return this.missing
      ? new Field(value, this.#file, this.#refuse, this.#lineOf, this.path)
      : this;
  }

  optional<T>(read: (field: Field) => T): T | undefined {
    return this.missing ? undefined : read(this);
  }

  at(name: string): Field {
    const object = this.object();
    return this.#inside(
      Object.hasOwn(object, name) ? object[name] : undefined,
      this.path ? `.${name}` : name,
    );
  }

  entries(): (readonly [string, Field])[] {
    return Object.keys(this.object()).map((name) => [name, this.at(name)]);
  }

  object(): Readonly<Record<string, unknown>> {
    const { value } = this;
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Readonly<Record<string, unknown>>;
    throw this.not("an object");
  }

  only(names: readonly string[], former: readonly string[] = []): this {
    const stray = Object.keys(this.object()).find((name) => ![...names, ...former].includes(name));
    if (stray !== undefined) {
      const meant = similar(stray, names);
      const known = `Known: ${names.join(", ")}.`;
      const hint = meant === undefined ? known : `${known} Did you mean "${meant}"?`;
      throw this.at(stray).bad("does not belong there.", hint);
    }
    return this;
  }

  list(): readonly Field[] {
    if (!Array.isArray(this.value)) throw this.not("a list");
    return this.value.map((one, i) => this.#inside(one, `[${i}]`));
  }

  /** `of`: what it lists, for the message. */
  filledList(of: string): readonly Field[] {
    const list = this.list();
    if (list.length === 0) throw this.bad(`is empty: there must be at least one ${of}.`);
    return list;
  }

  text(): string {
    if (typeof this.value === "string" && this.value !== "") return this.value;
    throw this.not("a text");
  }

  boolean(): boolean {
    if (typeof this.value === "boolean") return this.value;
    throw this.not("true or false");
  }

  one<const T extends string | number>(known: readonly T[]): T {
    const found = known.find((one) => one === this.value);
    if (found !== undefined) return found;
    throw this.not(known.length === 1 ? `${known[0]}` : `one of ${known.join(", ")}`);
  }

  number(bounds: Bounds = {}): number {
    const { value } = this;
    const { least = 0, above, most = Infinity, whole = false } = bounds;
    const fits =
      typeof value === "number" &&
      Number.isFinite(value) &&
      (above === undefined ? value >= least : value > above) &&
      value <= most &&
      (!whole || Number.isSafeInteger(value));
    if (fits) return value;
    throw this.not(`a ${whole ? "whole " : ""}number${range(least, above, most)}`);
  }

  whole(least: number, most = Infinity): number {
    return this.number({ least, most, whole: true });
  }

  ratio(): number {
    return this.number({ most: 1 });
  }

  #inside(value: unknown, step: string): Field {
    return new Field(value, this.#file, this.#refuse, this.#lineOf, `${this.path}${step}`);
  }
}

function range(least: number, above: number | undefined, most: number): string {
  const upper = most === Infinity ? "" : ` and at most ${most}`;
  if (above !== undefined) return ` above ${above}${upper}`;
  if (most !== Infinity) return ` from ${least} to ${most}`;
  return least === -Infinity ? "" : ` of ${least} or more`;
}
