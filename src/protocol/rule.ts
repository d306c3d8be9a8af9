// The kinds of rule that there are. In shared memory each is a 32-bit unsigned integer.

interface Described {
  readonly usual: number;
  readonly doc: string;
}

/** 0 or 1; any other value counts as 1. */
export interface Flag extends Described {
  readonly kind: "flag";
}

/** A number in `unit`, from `least` to `most`; where 0 has a meaning of its own, also 0. */
export interface Limit extends Described {
  readonly kind: "limit";
  readonly unit: string;
  readonly least: number;
  readonly most: number;
  /** The meaning of 0. */
  readonly zero: string | undefined;
}

/** One of some values that have names; a value without a name counts as the first. */
export interface Words extends Described {
  readonly kind: "words";
  readonly words: Readonly<Record<string, number>>;
}

export type Rule = Flag | Limit | Words;

export const U32_MAX = 2 ** 32 - 1;

export const flag = (usual: 0 | 1, doc: string): Flag => ({ kind: "flag", usual, doc });

export const limit = ({
  unit,
  usual,
  doc,
  least = 0,
  most = U32_MAX,
  zero,
}: {
  unit: string;
  usual: number;
  doc: string;
  least?: number;
  most?: number;
  zero?: string;
}): Limit => ({ kind: "limit", unit, usual, doc, least, most, zero });

export const words = <W extends Readonly<Record<string, number>>>(
  named: W,
  usual: keyof W & string,
  doc: string,
): Words => ({ kind: "words", words: named, usual: named[usual] ?? 0, doc });

/** The accepted values as a phrase: "a whole number from 20 to 20,000 (us)". */
export function accepted(rule: Rule): string {
  switch (rule.kind) {
    case "flag":
      return "0 or 1";
    case "words":
      return `one of ${Object.entries(rule.words)
        .map(([word, number]) => `${word} (${number})`)
        .join(", ")}`;
    case "limit": {
      const { least, most, unit, zero } = rule;
      const number = (n: number) => n.toLocaleString("en-US");
      const range =
        most === U32_MAX
          ? least === 0
            ? "a whole number below 2^32"
            : `a whole number of at least ${number(least)}`
          : `a whole number from ${number(least)} to ${number(most)}`;
      return `${range} (${unit})${zero && least > 0 ? `, or 0: ${zero}` : ""}`;
    }
  }
}

/** The nearest number that the rule accepts, as the gate takes it. */
export function inRange({ least, most, zero }: Limit, value: number): number {
  return value === 0 && zero !== undefined ? 0 : Math.min(most, Math.max(least, value));
}

/** Parses a person's text; undefined: no value that `accepted` names. */
export function parseRule(rule: Rule, given: string): number | undefined {
  if (rule.kind === "words")
    return Object.entries(rule.words).find(
      ([word, value]) => given === word || given === String(value),
    )?.[1];
  if (!/^\d+$/.test(given)) return undefined;
  const value = Number(given);
  if (rule.kind === "flag") return value <= 1 ? value : undefined;
  const { least, most, zero } = rule;
  return (value === 0 && zero !== undefined) || (value >= least && value <= most)
    ? value
    : undefined;
}
