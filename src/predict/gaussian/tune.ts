import { type Composition, MULTIPLYING, multiplying, TAKING_TURNS } from "../data/several.ts";
import type { Progress } from "../regress/regressor.ts";
import { leftOutError, type Prepared, type Tuned } from "./burdens.ts";
import { ceiling } from "./link.ts";
import { haveSeveral, type Shared, shareCosts } from "./shared-costs.ts";

const choices = {
  wait: [0.5, 0.25, 1],
  amplitude: [0.1, 1],
  softness: [0.3, 0.1, 0.65, 1],
  reach: [1.4, 0.7, 1, 2],
  noise: [0.03, 0.08],
  own: [0.3, 0, 1],
  interplay: [0.3, 1],
  shareReach: [0.5, 1],
} as const satisfies Readonly<Record<Exclude<keyof Tuned, keyof Composition>, readonly number[]>>;
const names = Object.keys(choices) as readonly (keyof typeof choices)[];
const SWEEPS = 2;
const MAX_TRIED = 1 + SWEEPS * names.reduce((sum, name) => sum + choices[name].length, 0);

/** A value this close to a ceiling can be noise. */
const BELOW = 1.02;

export function tune(unshared: Prepared, told?: Progress): Shared {
  const most = Math.max(...unshared.retained);
  const possible = choices.softness.filter((one) => BELOW * ceiling(one) >= most || one === 1);
  const accountable = unshared.accountable;
  const first: Tuned = {
    softness: possible[0] ?? 1,
    reach: choices.reach[0],
    noise: choices.noise[0],
    // The account leaves little to learn, and a few pairs must not outweigh it.
    amplitude: accountable ? choices.amplitude[0] : 1,
    own: choices.own[0],
    interplay: choices.interplay[0],
    shareReach: choices.shareReach[0],
    wait: accountable ? choices.wait[0] : 0,
    ...multiplying,
  };
  const started = haveSeveral(unshared)
    ? compose(unshared, first)
    : { prepared: unshared, tuned: first };
  const { prepared } = started;
  let { tuned } = started;
  const wereTried = new Set([JSON.stringify(tuned)]);
  let least = leftOutError(prepared, tuned);
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (const name of names) {
      if (name === "shareReach" && !prepared.sharesDiffer) continue;
      if ((name === "wait" || name === "amplitude") && !accountable) continue;
      for (const value of name === "softness" ? possible : choices[name]) {
        const tried = { ...tuned, [name]: value };
        if (wereTried.has(JSON.stringify(tried))) continue;
        wereTried.add(JSON.stringify(tried));
        const error = leftOutError(prepared, tried);
        told?.(wereTried.size / MAX_TRIED);
        if (error < least) {
          least = error;
          tuned = tried;
        }
      }
    }
  return shareCosts(prepared, tuned);
}

const EXPONENTS = [MULTIPLYING, 0.5, TAKING_TURNS, -0.5] as const;

function compose(prepared: Prepared, tuned: Tuned): Shared {
  const all = EXPONENTS.map((exponent) => {
    const shared = shareCosts(prepared, { ...tuned, exponent });
    return { shared, error: leftOutError(shared.prepared, shared.tuned) };
  });
  return all.reduce((best, one) => (one.error < best.error ? one : best)).shared;
}
