import { micros, percent } from "#core";
import type { GpuStatus, HighStatus } from "../status/status.ts";

export interface Problem {
  readonly cause: string;
  readonly remedy: string;
}

/** Less queued-ahead work than this part of the p99 did not make it long. */
const FELT = 0.1;
/** If less of a burst is spent waiting for the GPU, the rest is the program's own. */
const OWN_TIME = 0.5;

/** Shorter chunks hardly stop sooner and cost more. */
const SHORTEST_US = 50;

export function problemOf(client: HighStatus, gpu: GpuStatus): Problem | undefined {
  if (client.objective?.state === "impossible") return impossible(client);
  if (client.objective?.state === "unheard") return unheard(client);
  if (client.objective?.state !== "missed") return undefined;
  return (
    untrackedOn(gpu) ??
    ignored(gpu) ??
    shared(client) ??
    ahead(client, gpu) ??
    ownTime(client) ??
    unknown(client)
  );
}

function impossible({ alone, sloP99Us }: HighStatus): Problem {
  const shown = alone ? ` takes ${micros(alone.p99Us)} alone` : " is too long even alone";
  return {
    cause: `the p99 of its bursts${shown}, and the objective is ${micros(sloP99Us)}`,
    remedy: "state an objective above that, or make its requests shorter",
  };
}

const unheard = ({ requests }: HighStatus): Problem => ({
  cause: `${requests?.url || "its service"} does not report its requests: ${requests?.unheard ?? "there was no report lately"}`,
  remedy: "it is fully protected until that is fixed",
});

function untrackedOn({ strangers }: GpuStatus): Problem | undefined {
  const [first] = strangers;
  if (!first) return undefined;
  return {
    cause: `pid ${first.pid} ${first.name} runs on this GPU and is not held back`,
    remedy: 'start it with "cotenant run --class best-effort -- COMMAND"',
  };
}

function ignored({ bestEffort }: GpuStatus): Problem | undefined {
  const found = bestEffort.find(({ hold }) => hold && hold.ignored > 0);
  if (!found) return undefined;
  return {
    cause: `${found.name} (pid ${found.pid}) does not pause`,
    remedy: `"cotenant why ${found.pid}" names its owner; end it`,
  };
}

function shared({ sharedShare, starting }: HighStatus): Problem | undefined {
  if (starting)
    return {
      cause: "it is starting, so best-effort work takes turns with it",
      remedy: "call cotenant_ready() where it begins to serve, or wait for its first requests",
    };
  if (sharedShare === 0) return undefined;
  return {
    cause: `best-effort work took turns with it in ${percent(sharedShare)} of the time, because none of its launches was seen to complete`,
    remedy: "let the program wait for its GPU work, such as by a synchronise after each request",
  };
}

function ahead({ aheadMaxUs, burstP99Us }: HighStatus, gpu: GpuStatus): Problem | undefined {
  if (burstP99Us === undefined || aheadMaxUs < FELT * burstP99Us) return undefined;
  const cause = `up to ${micros(aheadMaxUs)} of best-effort work was queued ahead of its bursts`;
  return { cause, remedy: remedyForAhead(aheadMaxUs, gpu) };
}

export function remedyForAhead(aheadUs: number, { bestEffort, served }: GpuStatus): string {
  const chunkUs = served?.rules.chunkUs ?? 0;
  const whole = bestEffort.find(({ graphGates }) => graphGates.wholeGraphs > 0);
  const long = bestEffort.find(({ longestKernelUs }) => longestKernelUs > 2 * chunkUs);
  if (aheadUs > 2 * chunkUs && long)
    return `kernels of ${long.name} take up to ${micros(long.longestKernelUs)}${
      long.longestKernel === undefined ? "" : ` (${long.longestKernel})`
    }: ${
      long.preemptible.variants > 0
        ? "those without a variant can't stop inside, so a smaller batch helps"
        : "none can stop inside, so a smaller batch helps"
    }`;
  if (aheadUs > 2 * chunkUs && whole)
    return `CUDA graphs of ${whole.name} that can't stop inside run whole: capture shorter ones`;
  const shorter = Math.max(SHORTEST_US, Math.round(chunkUs / 2));
  if (shorter >= chunkUs)
    return `chunks of ${micros(chunkUs)} can hardly be shorter: a smaller batch of the best-effort work or a looser objective helps`;
  return `shorter chunks, such as "cotenant up --set chunkUs=${shorter}", cost the best-effort work more`;
}

function ownTime({ burstP99Us, burstWaitP99Us }: HighStatus): Problem | undefined {
  if (burstP99Us === undefined || burstWaitP99Us === undefined) return undefined;
  if (burstWaitP99Us > OWN_TIME * burstP99Us) return undefined;
  return {
    cause: `of a burst of ${micros(burstP99Us)} it waits ${micros(burstWaitP99Us)} for the GPU; the rest is CPU time of the program`,
    remedy: 'state the objective as "slowdown=", which does not count that time',
  };
}

const unknown = ({ unit }: HighStatus): Problem => ({
  cause: `its ${unit}s took longer than the objective allows, and the counters show no single cause`,
  remedy:
    "best-effort work is held as under strict while the objective is missed; if it stays missed, state a larger one",
});
