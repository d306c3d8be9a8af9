// The socket a sharing policy plugs into. A policy is a pure function from what was seen to the gate's
// rule table; the agent asks it a few times a second and it never decides about a single launch. One
// policy is in force at a time; what the person at the command line set by hand goes over its rules
// last (`withOverrides`).
import { errors } from "#core";
import { Settings, submission, whenActive } from "#protocol";

/** The gate's rule table: every field of the shared Settings, documented there. */
export type Rules = { readonly [K in keyof (typeof Settings)["fields"]]: number };

export interface SeenHigh {
  readonly name: string;
  /** Median burst over the last window, in microseconds; undefined when there was none. */
  readonly burstP50Us: number | undefined;
}

export interface Observed {
  /** Contexts take turns: there is no MPS. */
  readonly isolated: boolean;
  readonly high: readonly SeenHigh[];
}

export interface Policy {
  readonly name: string;
  /** One line, for `--help`. */
  readonly summary: string;
  rules(seen: Observed): Rules;
}

export type Overrides = Partial<Rules>;

export const withOverrides = (rules: Rules, overrides: Overrides): Rules => ({
  ...rules,
  ...overrides,
});

/** Words that stand for a number in an override. */
const words: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  whenActive,
  submission,
};

/** Texts such as "chunkUs=100" or "submission=launch" → overrides; throws a UserError. */
export function parseOverrides(texts: readonly string[]): Overrides {
  const overrides: Record<string, number> = {};
  for (const text of texts) {
    const [name = "", ...rest] = text.split("=");
    const known = Object.keys(Settings.fields);
    if (!known.includes(name)) throw errors.unknownRule(name, known);
    overrides[name] = ruleValue(text, rest.join("="), words[name] ?? {});
  }
  return overrides;
}

function ruleValue(text: string, given: string, named: Readonly<Record<string, number>>): number {
  const word = named[given];
  if (word !== undefined) return word;
  if (/^\d+$/.test(given) && Number(given) < 2 ** 32) return Number(given);
  const known = Object.keys(named);
  const orWord = known.length > 0 ? ` or one of ${known.join(", ")}` : "";
  throw errors.badRule(text, `a whole number below 2^32${orWord}`);
}
