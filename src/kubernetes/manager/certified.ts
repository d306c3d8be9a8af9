// It runs apart from the manager, because nothing in a cluster can limit changes of webhooks.
import { setTimeout as wait } from "node:timers/promises";
import { wallNow } from "#core";
import type { Api } from "../api/client.ts";

const CERTIFIED_EACH_MS = 60_000;
const AGAIN_MS = 2000;

export async function keepCertified(
  api: Api,
  names: readonly string[],
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  // Most commands don't need it, and the library that makes certificates takes its time to load.
  const { certify } = await import("./certificate.ts");
  while (!signal.aborted) {
    let pause = AGAIN_MS;
    try {
      await certify(api, names, wallNow());
      pause = CERTIFIED_EACH_MS;
    } catch (error) {
      say(`the webhook has no certificate: ${error instanceof Error ? error.message : error}`);
    }
    await wait(pause, undefined, { signal }).catch(() => {}); // it was aborted
  }
}
