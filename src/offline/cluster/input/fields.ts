// Fields of a scenario file, each read with what it may be; whatever is wrong is said with its place.
import { badScenario } from "../faults.ts";

export interface Fields {
  /** Such as `day.json: services[1].load`. */
  readonly place: string;
  has(key: string): boolean;
  number(key: string, bounds: Bounds, fallback?: number): number;
  text(key: string, fallback?: string): string;
  object(key: string): Fields;
  /** Each of a list of objects, at least one. */
  list(key: string): readonly Fields[];
  texts(key: string): readonly string[];
  /** Throws a UserError for a key that nobody asked for. */
  done(): void;
}

interface Bounds {
  readonly least: number;
  readonly most?: number;
  readonly whole?: boolean;
}

export function fieldsOf(value: unknown, place: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badScenario(place, "this is no object");
  const object = value as Readonly<Record<string, unknown>>;
  const asked = new Set<string>();
  const get = (key: string): unknown => {
    asked.add(key);
    return object[key];
  };
  const at = (key: string) => `${place}${place.includes(":") ? "." : ": "}${key}`;
  return {
    place,
    has: (key) => get(key) !== undefined,
    number(key, { least, most = Number.POSITIVE_INFINITY, whole = false }, fallback) {
      const given = get(key);
      if (given === undefined && fallback !== undefined) return fallback;
      const n = typeof given === "number" ? given : Number.NaN;
      const upper =
        most === Number.POSITIVE_INFINITY ? `of at least ${least}` : `from ${least} to ${most}`;
      if (
        !(n >= least && n <= most && n < Number.POSITIVE_INFINITY) ||
        (whole && !Number.isInteger(n))
      )
        throw badScenario(at(key), `${said(given)}, not a ${whole ? "whole " : ""}number ${upper}`);
      return n;
    },
    text(key, fallback) {
      const given = get(key);
      if (given === undefined && fallback !== undefined) return fallback;
      if (typeof given !== "string" || given === "")
        throw badScenario(at(key), `${said(given)}, not a text`);
      return given;
    },
    object: (key) => fieldsOf(get(key) ?? {}, at(key)),
    list(key) {
      const given = get(key);
      if (!Array.isArray(given) || given.length === 0)
        throw badScenario(at(key), `${said(given)}, not a list with something in it`);
      return given.map((one, i) => fieldsOf(one, `${at(key)}[${i}]`));
    },
    texts(key) {
      const given = get(key);
      if (
        !Array.isArray(given) ||
        given.length === 0 ||
        given.some((one) => typeof one !== "string")
      )
        throw badScenario(at(key), `${said(given)}, not a list of names`);
      return given as string[];
    },
    done() {
      const unknown = Object.keys(object).find((key) => !asked.has(key));
      if (unknown !== undefined)
        throw badScenario(
          place,
          `"${unknown}" is unknown here`,
          `Known: ${[...asked].join(", ")}.`,
        );
    },
  };
}

const said = (given: unknown): string =>
  given === undefined ? "missing" : `${JSON.stringify(given)} is given`;
