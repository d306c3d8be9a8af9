// The few requests to the API server that Cotenant makes. Why no library: decision 0018.
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { setTimeout as wait } from "node:timers/promises";
import type { Access } from "./access.ts";

/** The API server does not take longer for what is asked here, unless its machine is overloaded. */
const ANSWER_WITHIN_MS = 30_000;
/** It says each minute how far a watch has come. Without a word for this long the connection is dead. */
const WATCH_SILENT_MS = 150_000;
const PAGE = 500;
/** How often a request is sent again that the API server was too busy for. */
const AGAIN = 3;
const LONGEST_WAIT_S = 5;
/** By this name the API server remembers which fields are Cotenant's. */
const FIELD_MANAGER = "cotenant";

/** The API server refused: its status, such as 409, and its sentence. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

/** An operation of a JSON patch, RFC 6902. */
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
  /** The same; undefined if there is no such object, or no such kind. */
  find<T>(path: string): Promise<T | undefined>;
  /** All objects of a kind, in pages; `keep` makes what is kept of each. `version`: as of when. */
  list<T, K = T>(
    path: string,
    keep?: (one: T) => K,
  ): Promise<{ readonly items: readonly K[]; readonly version: string }>;
  /** The changes of a kind after a version, one JSON text a line. Rejects, or breaks off, when the server ends it. */
  watch(path: string, version: string, signal: AbortSignal): Promise<IncomingMessage>;
  create<T>(path: string, object: unknown): Promise<T>;
  /** Writes an object as a whole; the server refuses it with 409 if it is not the version that was seen. */
  replace<T>(path: string, object: T): Promise<T>;
  patch<T>(path: string, operations: readonly PatchOperation[]): Promise<T>;
  /** Merges an object into what is there: lists of named entries by their names. */
  merge<T>(path: string, object: unknown): Promise<T>;
  /** Merges an object of a kind that Kubernetes does not know itself: lists are replaced. */
  mergePlain<T>(path: string, object: unknown): Promise<T>;
  /** Makes the object what is stated (server-side apply), also where another had stated something else. */
  apply<T>(path: string, object: unknown): Promise<T>;
  /** Deletes an object only if it still is the one that was seen. */
  remove(path: string, seen?: Response): Promise<void>;
}

interface ConnectOptions {
  /** A request that takes longer is broken off, and rejects. */
  readonly answerWithinMs?: number;
  /** Is called when the API server was too busy for a request. */
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

/** Resolves when the answer begins. */
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
      // The server closed an idle connection in the moment in which it was used again. What creates an object is not sent
      // twice: the server may have done it.
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

/** The message of a Status object. */
function sentenceOf(text: string): string | undefined {
  try {
    return JSON.parse(text).message;
  } catch {
    return undefined;
  }
}
