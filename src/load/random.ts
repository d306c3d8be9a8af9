// Chance from a seed: the same seed gives the same numbers on every machine.

/** Numbers in [0, 1). */
export type Random = () => number;

/** sfc32: 128 bits of state, its first rounds thrown away so that near seeds part company. */
export function seeded(seed: number): Random {
  let a = 0x9e3779b9;
  let b = Math.floor(seed / 2 ** 32) | 0;
  let c = seed | 0;
  let counter = 1;
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 12; i++) next();
  return next;
}

/** Time to the next event of a Poisson process, in units of 1/rate. */
export const exponential = (random: Random, rate: number): number => -Math.log(1 - random()) / rate;
