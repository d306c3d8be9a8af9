import { percent } from "#core";
import type { Demonstrated } from "./demo.ts";

/** undefined where nothing was measured, as in a run that was too short. */
export function demoVerdict({
  arrangements,
}: Pick<Demonstrated, "arrangements">): string | undefined {
  const of = (name: string) => arrangements.find(({ arrangement }) => arrangement === name);
  const [plain, gated] = [of("together, no gate"), of("together, gated")];
  const [before, after] = [plain?.slowdown.requestP99, gated?.slowdown.requestP99];
  if (before === undefined || after === undefined || gated?.retained === undefined)
    return undefined;
  const keeps = `the best-effort job keeps ${percent(gated.retained)} of its throughput`;
  const [without, withGate] = [before.toFixed(2), after.toFixed(2)];
  return after < before
    ? `Sharing made the p99 of requests ${without} times that alone. With Cotenant it is ${withGate} times, and ${keeps}.`
    : `With Cotenant the p99 of requests was ${withGate} times that alone, without it ${without} times: this run shows no gain. ${keeps[0]?.toUpperCase()}${keeps.slice(1)}. Try it again when the machine is idle, or with a longer --seconds.`;
}
