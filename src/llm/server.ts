import { errors, UserError, usage } from "#core";
import type { Api } from "./body.ts";

const ANSWERS_WITHIN_MS = 10_000;

/** "http://localhost:8000", with or without /v1. Throws a UserError. */
export function parseServer(text: string): URL {
  try {
    const url = new URL(text);
    if (url.protocol === "http:" || url.protocol === "https:") {
      url.pathname = url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
      url.search = "";
      url.hash = "";
      return url;
    }
  } catch {
    // Another text than a URL is refused below.
  }
  throw usage(
    `--url ${text} is no address of a server.`,
    "Give one such as http://localhost:8000.",
  );
}

export const endpoint = (server: URL, api: Api): URL =>
  below(server, api === "chat" ? "/v1/chat/completions" : "/v1/completions");

const below = (server: URL, path: string): URL =>
  new URL(`${server.pathname.replace(/\/$/, "")}${path}`, server);

/** Throws a UserError if no model is listed. */
export async function firstModel(
  server: URL,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const url = below(server, "/v1/models");
  let list: { readonly data?: readonly { readonly id?: unknown }[] };
  try {
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) });
    if (!answer.ok) throw new Error(`it answers with HTTP status ${answer.status}`);
    list = (await answer.json()) as typeof list;
  } catch (error) {
    throw noModels(url, whyOf(error));
  }
  const id = list?.data?.[0]?.id;
  if (typeof id === "string") return id;
  throw noModels(url, "it lists none");
}

/** undefined if the server has no /metrics. Never rejects. */
export async function metricsText(
  server: URL,
  headers: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
    const answer = await fetch(below(server, "/metrics"), { headers, signal });
    return answer.ok ? await answer.text() : undefined;
  } catch {
    return undefined;
  }
}

const whyOf = (error: unknown): string =>
  errors.whyOf(error instanceof Error && error.cause !== undefined ? error.cause : error);

const noModels = (url: URL, why: string) =>
  new UserError(
    "NO_LLM_SERVER",
    `The models of the server can't be read at ${url}: ${why}.`,
    "Check --url and that the server is ready, or give --model NAME.",
  );
