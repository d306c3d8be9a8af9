// The few requests to the API server that the manager makes, as a service account. Why no library: decision 0018.
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";

/** The API server does not take longer for what is asked here. */
const ANSWER_WITHIN_MS = 30_000;
const PAGE = 500;

export interface Access {
  readonly server: string;
  /** The certificate of the authority that signed the server's, PEM. */
  readonly authority: string;
  /** Read anew for each request: tokens expire and are replaced in their file. */
  token(): string;
}

/** As Kubernetes gives it to a container: a folder with a token and a certificate. Throws if it is not there. */
export const accessOf = (server: string, folder: string): Access => ({
  server,
  authority: readFileSync(join(folder, "ca.crt"), "utf8"),
  token: () => readFileSync(join(folder, "token"), "utf8").trim(),
});

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

/** All reject with an ApiError when the server refuses. Paths begin with /api or /apis. */
export interface Api {
  /** All objects of a kind, in pages. */
  list<T>(path: string): Promise<readonly T[]>;
  create<T>(path: string, object: T): Promise<T>;
  patch(path: string, operations: readonly PatchOperation[]): Promise<void>;
  /** Deletes an object only if it still is the one that was seen. */
  remove(
    path: string,
    seen: { readonly uid: string; readonly resourceVersion: string },
  ): Promise<void>;
}

interface Listed<T> {
  readonly items: readonly T[];
  readonly metadata: { readonly continue?: string };
}

export function connect(access: Access): Api {
  const agent = new Agent({ ca: access.authority, keepAlive: true });
  const send = (method: string, path: string, body?: unknown, type = "application/json") =>
    ask(access, agent, method, path, body === undefined ? undefined : JSON.stringify(body), type);
  return {
    async list<T>(path: string) {
      const all: T[] = [];
      let next: string | undefined = "";
      while (next !== undefined) {
        const page = `${path}?limit=${PAGE}&continue=${encodeURIComponent(next)}`;
        const { items, metadata } = (await send("GET", page)) as Listed<T>;
        all.push(...items);
        next = metadata.continue || undefined;
      }
      return all;
    },
    create: <T>(path: string, object: T) => send("POST", path, object) as Promise<T>,
    async patch(path, operations) {
      await send("PATCH", path, operations, "application/json-patch+json");
    },
    async remove(path, { uid, resourceVersion }) {
      const preconditions = { uid, resourceVersion };
      await send("DELETE", path, { apiVersion: "v1", kind: "DeleteOptions", preconditions });
    },
  };
}

/** One request; resolves to the JSON of the answer. */
function ask(
  access: Access,
  agent: Agent,
  method: string,
  path: string,
  body: string | undefined,
  type: string,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${access.token()}`,
      accept: "application/json",
      // Without a length, Node sends the body of a DELETE as if it were the next request.
      ...(body !== undefined && {
        "content-type": type,
        "content-length": Buffer.byteLength(body),
      }),
    };
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const sent = request(new URL(path, access.server), { agent, method, headers, signal });
    sent.on("error", reject);
    sent.on("response", async (response) => {
      try {
        const text = Buffer.concat(await response.toArray()).toString();
        const status = response.statusCode ?? 0;
        if (status < 300) resolve(JSON.parse(text));
        else
          reject(new ApiError(status, sentenceOf(text) ?? `${method} ${path}: status ${status}`));
      } catch (error) {
        reject(error);
      }
    });
    sent.end(body);
  });
}

/** The message of a Status object. */
function sentenceOf(text: string): string | undefined {
  try {
    return JSON.parse(text).message;
  } catch {
    return undefined;
  }
}
