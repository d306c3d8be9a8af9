/** Numbers from 0 to below 1, the same for the same seed (Park and Miller's minimal standard generator). */
export function seeded(seed: number): () => number {
  const modulus = 2 ** 31 - 1;
  let state = (Math.floor(seed) % (modulus - 1)) + 1;
  return () => {
    state = (state * 48_271) % modulus;
    return (state - 1) / (modulus - 1);
  };
}
