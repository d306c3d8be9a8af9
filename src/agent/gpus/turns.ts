// A turn lasts a few milliseconds, which is too short for this thread, so a native thread gives
// turns (native/gate/turns.h). It runs only while there are several best-effort clients.
import koffi from "koffi";
import { gateLibrary } from "#core";
import type { SharedRegion } from "./region.ts";

export interface TurnKeeper {
  stop(): void;
}

interface Library {
  start(region: bigint): unknown;
  stop(keeper: unknown): void;
}

let loaded: Library | undefined;

function library(): Library {
  if (loaded) return loaded;
  const gate = koffi.load(gateLibrary());
  const start = gate.func("void *cotenant_start_turns(void *region)");
  const stop = gate.func("void cotenant_stop_turns(void *keeper)");
  loaded = { start: (region) => start(region), stop: (keeper) => void stop(keeper) };
  return loaded;
}

// Regions are listed while their threads run, so that their memory is not collected and unmapped.
const served = new Set<SharedRegion>();

/** Throws if the library is not built or no thread can be started. */
export function keepTurns(region: SharedRegion): TurnKeeper {
  const { start, stop } = library();
  const keeper = start(region.address);
  if (!keeper) throw new Error("no thread to give turns");
  served.add(region);
  return {
    stop: () => {
      stop(keeper);
      served.delete(region);
    },
  };
}
