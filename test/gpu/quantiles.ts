import type { ModelWindow } from "#gpu";

const quantile = (values: readonly number[], q: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))] ??
  Number.NaN;

export const serviceUs = ({ requests }: ModelWindow, q: number): number =>
  quantile(
    requests.map(({ serviceNs }) => serviceNs / 1000),
    q,
  );

/** Iterations a second of a best-effort job. */
export function rate({ doneNs, settledNs, endNs }: ModelWindow, job = 0): number {
  const counted = (doneNs[job] ?? []).filter((ns) => ns >= settledNs && ns < endNs);
  return counted.length / ((endNs - settledNs) / 1e9);
}

/** Arrivals with pauses between `least` and `most` ms, the same each time. */
export function arrivals(seconds: number, least: number, most: number): number[] {
  let state = 12345;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const at: number[] = [];
  for (let ns = 0; ns < seconds * 1e9; ns += (least + next() * (most - least)) * 1e6) at.push(ns);
  return at;
}
