// How pairs and runs are written, the same in tables and charts.
import type { Pair, Row } from "./rows.ts";

/** "gpt2-train", "2 × gpt2-train", "gpt2-train + resnet-train" */
export function bestEffortNames({ bestEffort }: Pick<Pair, "bestEffort">): string {
  return [...new Set(bestEffort)]
    .map((name) => {
      const count = bestEffort.filter((other) => other === name).length;
      return count > 1 ? `${count} × ${name}` : name;
    })
    .join(" + ");
}

/** "load 0.2", "load 0.2, trace", "closed loop" */
export function loadText({ load, arrivals }: Pick<Pair, "load" | "arrivals">): string {
  if (arrivals === "closed") return "closed loop";
  if (load === undefined) return arrivals;
  const text = `load ${Number(load.toFixed(2))}`;
  return arrivals === "poisson" ? text : `${text}, ${arrivals}`;
}

export function besideText(pair: Pair): string {
  const names = bestEffortNames(pair);
  return names === "" ? "by itself" : `beside ${names}`;
}

export const pairText = (pair: Pair): string =>
  `${pair.high} ${besideText(pair)}, ${loadText(pair)}`;

/** "1 run", "2 runs, ±3.1 %", "failed: why", "1 run; 1 failed: why" */
export function runsText({ runs, failures, spread }: Row): string {
  const failed = [...new Set(failures)].join("; ");
  if (runs === 0) return `failed: ${failed}`;
  const good =
    runs === 1
      ? "1 run"
      : `${runs} runs${spread === undefined ? "" : `, ±${(100 * spread).toFixed(1)} %`}`;
  return failures.length > 0 ? `${good}; ${failures.length} failed: ${failed}` : good;
}
