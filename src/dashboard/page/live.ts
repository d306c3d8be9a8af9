// fetch reads the server-sent events, because EventSource can't send the token in a header.
import { type EventHandlers, eventParser } from "../events.ts";

export type Connection =
  | { readonly state: "connecting" }
  | { readonly state: "live" }
  /** It does not answer, or has stopped to. */
  | { readonly state: "gone" }
  /** `worked`: the token was accepted before. */
  | { readonly state: "refused"; readonly worked: boolean }
  | { readonly state: "full" };

type Handlers = EventHandlers & { readonly connection: (connection: Connection) => void };

const AGAIN_AFTER_MS = 2000;
/** The agent sends once a second. */
const SILENT_AFTER_MS = 6000;

export function startLive(token: () => string | undefined, handlers: Handlers): void {
  let worked: string | undefined;
  const again = async () => {
    const mine = token();
    if (mine !== undefined) {
      const end = await readStream(mine, handlers, () => {
        worked = mine;
      });
      handlers.connection(
        end === "refused" ? { state: end, worked: worked === mine } : { state: end },
      );
    }
    setTimeout(() => void again(), AGAIN_AFTER_MS);
  };
  void again();
}

async function readStream(
  token: string,
  handlers: Handlers,
  works: () => void,
): Promise<"refused" | "full" | "gone"> {
  const stop = new AbortController();
  let silence = setTimeout(() => stop.abort(), SILENT_AFTER_MS);
  try {
    const answer = await fetch("/dashboard/live", {
      headers: { authorization: `Bearer ${token}` },
      signal: stop.signal,
      cache: "no-store",
      credentials: "omit",
    });
    if (answer.status === 401) return "refused";
    if (answer.status === 503) return "full";
    if (!answer.ok || !answer.body) return "gone";
    works();
    handlers.connection({ state: "live" });
    const parse = eventParser(handlers);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return "gone";
      clearTimeout(silence);
      silence = setTimeout(() => stop.abort(), SILENT_AFTER_MS);
      parse(value);
    }
  } catch {
    return "gone";
  } finally {
    clearTimeout(silence);
  }
}
