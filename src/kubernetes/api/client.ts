// Decision 0018 says why this is no library.
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { setTimeout as wait } from "node:timers/promises";
import type { Access } from "./access.ts";

/** The API server does not take longer for what is asked here, unless its machine is overloaded. */
const ANSWER_WITHIN_MS = 30_000;
/** The API server reports progress each minute: without it the connection is dead. */
const WATCH_SILENT_MS = 150_000;
const PAGE = 500;
const AGAIN = 3;
const LONGEST_WAIT_S = 5;
const FIELD_MANAGER = "cotenant";

export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

interface PatchOperation {
  readonly op: "add" | "remove" | "replace" | "test";
  readonly path: string;
  readonly value?: unknown;
}

interface Response {
  readonly uid: string;
  readonly resourceVersion?: string;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly metadata: { readonly continue?: string; readonly resourceVersion: string };
}

/** All reject with an ApiError when the server refuses. Paths begin with /api or /apis. */
export interface Api {
  get<T>(path: string): Promise<T>;
  /** Resolves to undefined if there is no such object or no such kind. */
  find<T>(path: string): Promise<T | undefined>;
  /** `keep` reduces each object as its page comes. `version` is that of the whole list. */
  list<T, K = T>(
    path: string,
    keep?: (one: T) => K,
  ): Promise<{ readonly items: readonly K[]; readonly version: string }>;
  /** The body has one JSON text a line. Rejects, or breaks off, when the server ends it. */
  watch(path: string, version: string, signal: AbortSignal): Promise<IncomingMessage>;
  create<T>(path: string, object: unknown): Promise<T>;
  /** The server refuses with 409 if it is not the version that was seen. */
  replace<T>(path: string, object: T): Promise<T>;
  patch<T>(path: string, operations: readonly PatchOperation[]): Promise<T>;
  /** Lists of named entries are merged by their names. */
  merge<T>(path: string, object: unknown): Promise<T>;
  /** Lists are replaced, as in all kinds that Kubernetes does not know itself. */
  mergePlain<T>(path: string, object: unknown): Promise<T>;
  /** This server-side apply wins where another had stated something else. */
  apply<T>(path: string, object: unknown): Promise<T>;
  /** The object is deleted only if it still is the one that was seen. */
  remove(path: string, seen?: Response): Promise<void>;
}

interface ConnectOptions {
  readonly answerWithinMs?: number;
  throttled?(): unknown;
}

export function connect(access: Access, options: ConnectOptions = {}): Api {
  const { answerWithinMs = ANSWER_WITHIN_MS, throttled = () => {} } = options;
  const { authority, certificate, key, unchecked } = access;
  const agent = new Agent({
    ...(authority !== undefined && { ca: authority }),
    ...(certificate !== undefined && { cert: certificate }),
    ...(key !== undefined && { key }),
    rejectUnauthorized: !unchecked,
    keepAlive: true,
    maxSockets: 64,
  });
  const ask = async (method: string, path: string, body?: unknown, type = "application/json") => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    for (let left = AGAIN; ; left--) {
      const signal = AbortSignal.timeout(answerWithinMs);
      const response = await send(access, agent, { method, path, text, type, signal });
      const answer = Buffer.concat(await response.toArray()).toString();
      const status = response.statusCode ?? 0;
      if (status < 300) return JSON.parse(answer);
      const after = Number(response.headers["retry-after"]);
      // An eviction that a budget forbids has the same status, and is no matter of seconds.
      const isThrottled = status === 429 && !path.endsWith("/eviction");
      if (isThrottled) throttled();
      if (isThrottled && left > 0 && after >= 0) await wait(1000 * Math.min(LONGEST_WAIT_S, after));
      else throw new ApiError(status, sentenceOf(answer) ?? `${method} ${path}: status ${status}`);
    }
  };
  return {
    get: (path) => ask("GET", path),
    async find(path) {
      try {
        return await ask("GET", path);
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return undefined;
        throw error;
      }
    },
    async list<T, K = T>(path: string, keep: (one: T) => K = (one) => one as unknown as K) {
      const items: K[] = [];
      let next = "";
      for (;;) {
        const join = path.includes("?") ? "&" : "?";
        const page = `${path}${join}limit=${PAGE}&continue=${encodeURIComponent(next)}`;
        const { items: some, metadata } = (await ask("GET", page)) as Page<T>;
        for (const one of some) items.push(keep(one));
        next = metadata.continue ?? "";
        if (next === "") return { items, version: metadata.resourceVersion };
      }
    },
    async watch(path, version, signal) {
      const join = path.includes("?") ? "&" : "?";
      const from = `watch=1&allowWatchBookmarks=true&resourceVersion=${version}`;
      const asked = { method: "GET", path: `${path}${join}${from}`, type: "", text: undefined };
      const response = await send(access, agent, { ...asked, signal });
      response.setTimeout(WATCH_SILENT_MS, () => response.destroy(new Error("it was silent")));
      const status = response.statusCode ?? 0;
      if (status < 300) return response;
      const answer = Buffer.concat(await response.toArray()).toString();
      throw new ApiError(status, sentenceOf(answer) ?? `watching ${path}: status ${status}`);
    },
    create: (path, object) => ask("POST", path, object),
    replace: (path, object) => ask("PUT", path, object),
    patch: (path, operations) => ask("PATCH", path, operations, "application/json-patch+json"),
    merge: (path, object) => ask("PATCH", path, object, "application/strategic-merge-patch+json"),
    mergePlain: (path, object) => ask("PATCH", path, object, "application/merge-patch+json"),
    apply: (path, object) =>
      ask(
        "PATCH",
        `${path}?fieldManager=${FIELD_MANAGER}&force=true`,
        object,
        // Every document of JSON is one of YAML.
        "application/apply-patch+yaml",
      ),
    async remove(path, preconditions) {
      await ask("DELETE", path, {
        apiVersion: "v1",
        kind: "DeleteOptions",
        propagationPolicy: "Background",
        ...(preconditions && {
          preconditions: {
            uid: preconditions.uid,
            ...(preconditions.resourceVersion && {
              resourceVersion: preconditions.resourceVersion,
            }),
          },
        }),
      });
    },
  };
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly text: string | undefined;
  readonly type: string;
  readonly signal: AbortSignal;
}

const send = (access: Access, agent: Agent, asked: Request): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { method, path, text, type, signal } = asked;
    const token = access.token();
    const headers = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      accept: "application/json",
      // Without a length, Node sends the body of a DELETE as if it were the next request.
      ...(text !== undefined && {
        "content-type": type,
        "content-length": Buffer.byteLength(text),
      }),
    };
    const sent = request(new URL(path, access.server), { agent, method, headers, signal });
    let answers = false;
    sent.on("error", (error: NodeJS.ErrnoException) => {
      // The server closed an idle connection as it was used again. A POST is not sent twice: the
      // server may have done it.
      const wasClosed =
        sent.reusedSocket && error.code === "ECONNRESET" && !answers && method !== "POST";
      if (wasClosed) send(access, agent, asked).then(resolve, reject);
      else reject(error);
    });
    sent.on("response", (response) => {
      answers = true;
      resolve(response);
    });
    sent.end(text);
  });

function sentenceOf(text: string): string | undefined {
  try {
    return JSON.parse(text).message;
  } catch {
    return undefined;
  }
}
