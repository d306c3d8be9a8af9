import { normals, type Random, usage } from "#core";

export interface Lengths {
  readonly mean: number;
  readonly cv: number; // 0: equal lengths
}

// Means are of Kwon et al., "Efficient Memory Management for Large Language Model Serving with
// PagedAttention" (SOSP 2023), figure 11. The spread is assumed.
const published = {
  sharegpt: { prompt: { mean: 161.31, cv: 1 }, output: { mean: 337.99, cv: 1 } },
  alpaca: { prompt: { mean: 19.31, cv: 1 }, output: { mean: 58.45, cv: 1 } },
} as const;

const MAX_TOKENS = 1_000_000; // no context is longer
const MAX_CV = 20;

/** "512", "lognormal:512,1.5" or "sharegpt". */
export function parseLengths(text: string, of: "prompt" | "output"): Lengths {
  const known = Object.entries(published).find(([name]) => name === text);
  if (known) return known[1][of];
  const match = /^(?:lognormal:(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)|(\d+))$/.exec(text.trim());
  const [, mean, cv, fixed] = match ?? [];
  const lengths = { mean: Number(mean ?? fixed), cv: Number(cv ?? 0) };
  if (lengths.mean >= 1 && lengths.mean <= MAX_TOKENS && lengths.cv <= MAX_CV) return lengths;
  throw usage(
    `--${of} ${text} is no length in tokens.`,
    `Write a number such as 512, lognormal:MEAN,CV, or ${Object.keys(published).join(" or ")}.`,
  );
}

/** Lengths are whole, from 1 to `most`. */
export function drawLengths(
  { mean, cv }: Lengths,
  random: Random,
  most = MAX_TOKENS,
): () => number {
  const variance = Math.log(1 + cv ** 2);
  const normal = normals(random);
  return () => {
    const length = cv === 0 ? mean : mean * Math.exp(Math.sqrt(variance) * normal() - variance / 2);
    return Math.min(most, Math.max(1, Math.round(length)));
  };
}
