// Where in a description something stands: to read it, and to complain about it with its network and group.
import { badProblem } from "../faults.ts";

export type Json = Readonly<Record<string, unknown>>;

export class Place {
  readonly file: string;
  readonly name: string;
  readonly value: Json;

  constructor(file: string, name: string, value: unknown, only: readonly string[]) {
    this.file = file;
    this.name = name;
    if (!isObject(value)) throw badProblem(file, name, "it is not an object.");
    this.value = value;
    const stray = Object.keys(value).find((key) => !only.includes(key));
    if (stray !== undefined)
      throw this.bad(
        `it has a field "${stray}" that does not belong there.`,
        `Known: ${only.join(", ")}.`,
      );
  }

  bad(what: string, hint = "") {
    return badProblem(this.file, this.name, what, hint);
  }

  text(key: string): string {
    const found = this.value[key];
    if (typeof found !== "string" || found === "")
      throw this.bad(`its ${key} is missing or no text.`);
    return found;
  }

  list(key: string): readonly unknown[] {
    const found = this.value[key];
    if (!Array.isArray(found))
      throw this.bad(`its ${key} ${found === undefined ? "are missing" : "is no list"}.`);
    return found;
  }

  /** Zero or more; `what` as in "its demand on gpu". */
  quantity(found: unknown, what: string): number {
    if (typeof found !== "number" || !Number.isFinite(found) || found < 0)
      throw this.bad(`${what} is ${shown(found)}, not a number of 0 or more.`);
    return found;
  }

  texts(key: string): readonly string[] {
    if (this.value[key] === undefined) return [];
    return this.list(key).map((one) => {
      if (typeof one !== "string") throw this.bad(`its ${key} holds ${shown(one)}, not a name.`);
      return one;
    });
  }
}

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** JSON would write an infinite number, which a file can hold as 1e999, as null. */
export const shown = (value: unknown): string => {
  if (value === undefined) return "missing";
  if (typeof value === "number") return `${value}`;
  return JSON.stringify(value)?.slice(0, 60) ?? "unreadable";
};
