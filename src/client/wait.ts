// A job waits before its program starts, so signals end it as usual, and it holds no slot.
import { setTimeout as pause } from "node:timers/promises";
import { errors, type Micros, UserError } from "#core";
import type { Found } from "./ask.ts";
import { whyNotNow } from "./vacancy.ts";
import { agentNow } from "./without-agent.ts";

const ASK_EVERY_MS = 2000;

interface WaitOptions {
  readonly name: string;
  readonly atMost: Micros | undefined; // 0: none, undefined: no limit
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly report: (line: string) => void;
}

/** An agent's end is a reason to wait, too. Throws a UserError with exit status 75 at `atMost`. */
export async function waitForGpu(
  first: Found,
  { name, atMost, env, report }: WaitOptions,
): Promise<Found> {
  const since = performance.now();
  const mayWaitMs = atMost === undefined ? Infinity : atMost / 1e3;
  let reported: string | undefined;
  let found: Found | UserError = first;
  for (;;) {
    const reason: string | undefined =
      found instanceof UserError ? found.message : await whyNotNow(found.agent, env);
    const waitedMs = performance.now() - since;
    if (reason === undefined && !(found instanceof UserError)) {
      if (reported !== undefined)
        report(`"${name}" starts after a wait of ${Math.round(waitedMs / 1000)} s.`);
      return found;
    }
    const leftMs = mayWaitMs - waitedMs;
    if (leftMs <= 0) throw errors.gpuTakesNone(name, reason ?? "", mayWaitMs / 1e3);
    if (reason !== reported) report(`"${name}" waits before its start: ${reason}`);
    reported = reason;
    await pause(Math.min(ASK_EVERY_MS, leftMs));
    found = agentNow();
  }
}
