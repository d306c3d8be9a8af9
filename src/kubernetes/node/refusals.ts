import type { Api } from "../api/client.ts";
import { eventAboutNode } from "../api/event.ts";
import { type Missed, missedSentence } from "./injector.ts";
import { refusalOf } from "./slice.ts";
import type { NodeGpu } from "./state/gpus.ts";

export function newMissedEvents(api: Api, node: string) {
  let told = new Set<string>();
  return async (missed: readonly Missed[], wallNow: number): Promise<void> => {
    const sentences = missed.map(missedSentence);
    told = new Set(sentences.filter((one) => told.has(one)));
    for (const sentence of sentences) {
      if (told.has(sentence)) continue;
      const cure = `${sentence} Delete the pod, so that it is created again.`;
      await api.create(...eventAboutNode(node, "ContainerMissed", cure, wallNow));
      told.add(sentence);
    }
  };
}

/** It rejects when the API server does not take an event; then that comes later. */
export function newRefusals(api: Api, node: string) {
  const told = new Map<string, string>();
  return async (gpus: readonly NodeGpu[], wallNow: number): Promise<void> => {
    for (const gpu of gpus) {
      // Behind the colon are values, which change.
      const cause = gpu.because?.split(":")[0];
      if (cause === undefined) told.delete(gpu.uuid);
      else if (told.get(gpu.uuid) !== cause) {
        await api.create(...eventAboutNode(node, "GpuNotShareable", refusalOf(gpu), wallNow));
        told.set(gpu.uuid, cause);
      }
    }
  };
}
