// What SysMonitor says of a GPU, in words.
import type { Health } from "#health";
import type { GpuStatus } from "../status.ts";

const effects: Readonly<Record<Health, string>> = {
  init: "",
  healthy: "",
  unhealthy: "no new best-effort client may come",
  overlimit: "best-effort work is held, but for a chunk a second, and none may come",
  disabled: "best-effort work is held, but for a chunk a second, and none may come",
};

/** "unhealthy for 12 s (GPU memory in use 97 %, unhealthy from 95 %): no new …"; nothing of a GPU that is healthy. */
export function describeHealth({ health }: GpuStatus): string[] {
  if (!health || effects[health.state] === "") return [];
  const { state, cause, seconds, atLeastSeconds = 0, entries } = health;
  const before = `${state} for ${seconds.toFixed(0)} s (${cause}): ${effects[state]}`;
  const wait =
    atLeastSeconds > 0
      ? `, for at least ${atLeastSeconds.toFixed(0)} s more (entry ${entries} in two hours)`
      : "";
  return [`${before}${wait}`];
}
