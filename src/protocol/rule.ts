interface Described {
  readonly usual: number;
  readonly doc: string;
}

/** Any other value than 0 counts as 1. */
export interface Flag extends Described {
  readonly kind: "flag";
}

/** Where 0 has a meaning of its own, it is outside of `least` to `most`. */
export interface Limit extends Described {
  readonly kind: "limit";
  readonly unit: string;
  readonly least: number;
  readonly most: number;
  readonly zero: string | undefined;
}

/** A value without a name counts as the first. */
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

/** "a whole number from 20 to 20,000 (us)" */
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

export function inRange({ least, most, zero }: Limit, value: number): number {
  return value === 0 && zero !== undefined ? 0 : Math.min(most, Math.max(least, value));
}

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
