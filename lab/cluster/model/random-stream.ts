// Random numbers from a seed and a name. Each source of randomness has its own stream. So a scheduler's draws do not
// change loads, noise or failures, which come from other streams.

import { mulberry32 } from "#core";

export interface RandomStream {
  /** In [0, 1). */
  uniform(): number;
  /** Standard normal. */
  normal(): number;
  /** With mean 1. */
  exponential(): number;
}

/** The stream of that name, seeded by a hash (FNV-1a) of both. */
export function randomStream(seed: number, name: string): RandomStream {
  let state = 0x811c9dc5;
  for (const letter of `${seed}:${name}`)
    state = Math.imul(state ^ letter.charCodeAt(0), 0x01000193);
  const uniform = mulberry32(state);
  return {
    uniform,
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
    exponential: () => -Math.log(1 - uniform()),
  };
}
