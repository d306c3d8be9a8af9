import { percent } from "#core";
import type { Health } from "#health";
import type { GpuStatus } from "../status/status.ts";

const effects: Readonly<Record<Health, string>> = {
  init: "",
  healthy: "",
  unhealthy: "no new best-effort client may come",
  overlimit: "best-effort work is paused, but for one chunk a second, and no new client may come",
  disabled: "best-effort work is paused, but for one chunk a second, and no new client may come",
};

export const describeHealth = (gpu: GpuStatus): string[] => [
  ...describeState(gpu),
  ...(gpu.heldBecause === undefined
    ? []
    : [`best-effort work is paused, but for one chunk a second: ${gpu.heldBecause}`]),
  ...(gpu.samplingSolo
    ? [
        `best-effort work is paused for up to 10 s, while the policy samples bursts of ${gpu.high.length === 1 ? gpu.high[0]?.name : "the high clients"} solo: "held" counts that, too`,
      ]
    : []),
  ...describeBound(gpu),
];

/** "best-effort work gets at most 30 % of the GPU during requests, by the Pairing …" */
function describeBound({ shareBound }: GpuStatus): string[] {
  if (!shareBound) return [];
  const { share, from, effect } = shareBound;
  if (effect === "none")
    return [
      `${from} says that best-effort work gets at most ${percent(share)} of the GPU during requests, but the policy in force can't be limited by a share`,
    ];
  const within = effect === "within" ? "; the parameters in force give no more without it" : "";
  return [
    `best-effort work gets at most ${percent(share)} of the GPU during requests, by ${from}${within}`,
  ];
}

/** "unhealthy for 12 s (GPU memory in use 97 %, unhealthy from 95 %): no new …" */
function describeState({ health }: GpuStatus): string[] {
  if (!health || effects[health.state] === "") return [];
  const { state, cause, seconds, atLeastSeconds = 0, entries } = health;
  const before = `${state} for ${seconds.toFixed(0)} s (${cause}): ${effects[state]}`;
  const wait =
    atLeastSeconds > 0
      ? `, for at least ${atLeastSeconds.toFixed(0)} s more (entry ${entries} in two hours)`
      : "";
  return [`${before}${wait}`];
}
