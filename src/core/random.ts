// Recorded results depend on the streams of three generators (decision 0008).

export type Random = () => number; // in [0, 1)

export function mulberry32(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Seeds may be above 2^32. The first numbers of close seeds are similar, and dropped. */
export function sfc32(seed: number): Random {
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

export function minimalStandard(seed: number): Random {
  const modulus = 2 ** 31 - 1;
  let state = (Math.floor(seed) % (modulus - 1)) + 1;
  return () => {
    state = (state * 48_271) % modulus;
    return (state - 1) / (modulus - 1);
  };
}

/** Box and Muller's method makes two numbers at a time. */
export function normals(random: Random): Random {
  let spare = Number.NaN;
  return () => {
    if (!Number.isNaN(spare)) {
      const kept = spare;
      spare = Number.NaN;
      return kept;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    const angle = 2 * Math.PI * random();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

/** The mean is 1, `cv` the coefficient of variation (Marsaglia and Tsang 2000). */
export function gammas(cv: number, random: Random): Random {
  const shape = 1 / cv ** 2;
  // A smaller shape than 1 is that plus 1, times a power of a uniform number.
  const boosted = shape < 1 ? shape + 1 : shape;
  const d = boosted - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  const normal = normals(random);
  const draw = (): number => {
    for (;;) {
      const x = normal();
      const v = (1 + c * x) ** 3;
      if (v > 0 && Math.log(1 - random()) < x ** 2 / 2 + d - d * v + d * Math.log(v)) return d * v;
    }
  };
  return () => (draw() * (shape < 1 ? (1 - random()) ** (1 / shape) : 1)) / shape;
}

export function shuffle<T>(items: readonly T[], random: Random): T[] {
  const order = items.map((item) => ({ item, at: random() }));
  return order.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
