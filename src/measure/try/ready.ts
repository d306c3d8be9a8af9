import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { usage } from "#core";

export type Ready =
  | { readonly kind: "port"; readonly host: string; readonly port: number }
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "says"; readonly text: string };

const ANSWERS_WITHIN_MS = 1000;

/** "8000", "HOST:8000", "http://…", or words of the service's output. */
export function parseReady(given: string): Ready {
  if (/^https?:\/\//.test(given)) return { kind: "url", url: given };
  const [, host = "127.0.0.1", digits = ""] = /^(?:([\w.-]+):)?(\d+)$/.exec(given) ?? [];
  if (digits === "") {
    if (given.trim() === "") throw usage("--ready: give a port, a URL or words of its output.");
    return { kind: "says", text: given };
  }
  const port = Number(digits);
  if (port < 1 || port > 65535) throw usage(`--ready: there is no port ${port}.`);
  return { kind: "port", host, port };
}

export const describeReady = (ready: Ready): string =>
  ready.kind === "port"
    ? `${ready.host}:${ready.port}`
    : ready.kind === "url"
      ? ready.url
      : `"${ready.text}"`;

export async function isReady(ready: Ready, log: string): Promise<boolean> {
  switch (ready.kind) {
    case "port":
      return await accepts(ready.host, ready.port);
    case "url":
      return await answers(ready.url);
    case "says":
      return readFileSync(log, "utf8").includes(ready.text);
  }
}

/** The service could not be told from another one that answers there already. */
export const isTaken = async (ready: Ready): Promise<boolean> =>
  ready.kind !== "says" && (await isReady(ready, ""));

const accepts = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: ANSWERS_WITHIN_MS });
    const end = (accepted: boolean) => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(false));
    socket.once("error", () => end(false));
  });

const answers = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );
