import { basename } from "node:path";
import { environmentOf, printable, readOrNothing } from "../system/index.ts";

export interface Unseen {
  readonly because: string | undefined; // undefined: nothing made it a client
  readonly launch: number | undefined;
}

const nothingKnown: Unseen = { because: undefined, launch: undefined };

export function unseenOf(pid: number): Unseen {
  try {
    const env = environmentOf(pid);
    if (!env.has("COTENANT_CLASS")) return nothingKnown;
    const note = Number(basename(env.get("COTENANT_LAUNCHED") ?? ""));
    const because = causeIn(env, readOrNothing(`/proc/${pid}/maps`) ?? "");
    return { because, launch: note > 0 ? note : undefined };
  } catch {
    return nothingKnown;
  }
}

const SHOWN = 100;

function causeIn(env: ReadonlyMap<string, string>, maps: string): string {
  const off = env.get("COTENANT_OFF") ?? "";
  if (off !== "" && off !== "0") return "it runs with COTENANT_OFF";
  if (maps.includes("/libcotenant"))
    return "Cotenant's library is in it, and sees none of its calls of the driver";
  const preload = env.get("LD_PRELOAD");
  if (preload === undefined || preload === "")
    return "LD_PRELOAD was taken out of its environment, so Cotenant's library is not in it";
  return preload.includes("libcotenant")
    ? "the loader could not preload Cotenant's library into it"
    : `its LD_PRELOAD was replaced by ${printable(preload.slice(0, SHOWN))}, so Cotenant's library is not in it`;
}
