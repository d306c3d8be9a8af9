// Combines an instruction with its predicate and with the steps before and after it.
import type { Meaning, Site } from "../instructions/site.ts";
import type { Control, Step } from "../machine/warp.ts";

/** The instruction, its predicate, and the steps before and after it as one. */
export function guardMeaning(
  meaning: Meaning,
  site: Site,
  first: readonly Step[],
  last: readonly Step[],
): Meaning {
  const { predicate } = site.instruction;
  const slot =
    predicate === undefined
      ? undefined
      : site.read({ kind: "name", name: predicate.register }, "pred");
  const negated = predicate?.negated ?? false;
  if (typeof meaning === "function") {
    const step = sequence([...first, meaning, ...last]);
    if (slot === undefined) return step;
    return (warp, lanes, n) => {
      const some = warp.guard(lanes, n, slot, negated);
      if (some.n > 0) step(warp, some.lanes, some.n);
    };
  }
  const { meeting } = meaning;
  const prepare = first.length > 0 ? sequence(first) : undefined;
  const { control } = meaning;
  const whole = meeting === undefined ? undefined : sequence([meeting, ...last]);
  const prepared: Control = (warp) => {
    prepare?.(warp, warp.lanes, warp.n);
    return control(warp);
  };
  const made = prepare === undefined ? control : prepared;
  const guarded: Control = (warp) => {
    const { pc } = warp;
    const some = warp.guard(warp.lanes, warp.n, slot as number, negated);
    if (some.n === 0) return pc + 1;
    if (some.n === warp.n) return made(warp);
    warp.narrow(some, pc + 1);
    const next = made(warp);
    if (next >= 0) for (let k = 0; k < warp.n; k++) warp.pcs[warp.lanes[k] as number] = next;
    return -1;
  };
  return {
    control: slot === undefined ? made : guarded,
    ...(whole === undefined ? {} : { meeting: whole }),
  };
}

function sequence(steps: readonly Step[]): Step {
  const [first, second] = steps;
  if (first === undefined) return () => undefined;
  if (second === undefined) return first;
  if (steps.length === 2)
    return (warp, lanes, n) => {
      first(warp, lanes, n);
      second(warp, lanes, n);
    };
  return (warp, lanes, n) => {
    for (const step of steps) step(warp, lanes, n);
  };
}
