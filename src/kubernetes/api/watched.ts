// See https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes.
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { type Api, ApiError } from "./client.ts";

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 10_000;
const GONE = 410;

export interface Named {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion: string;
  };
}

export interface Watched<T> {
  readonly synced: boolean;
  readonly problem: string | undefined;
  values(): Iterable<T>;
  get(name: string, namespace?: string): T | undefined;
  /** The answer to a write of ours counts at once, unless the watch has a newer version already. */
  put(object: T): void;
}

interface Kind<T> {
  readonly path: string;
  keep(object: T): T;
}

export function watched<T extends Named>(
  api: Api,
  { path, keep }: Kind<T>,
  signal: AbortSignal,
  say: (line: string) => void,
): Watched<T> {
  let objects = new Map<string, T>();
  let synced = false;
  let problem: string | undefined;
  let version = "";

  const follow = async (): Promise<void> => {
    if (version === "") {
      const all = await api.list<T, T>(path, keep);
      objects = new Map(all.items.map((one) => [keyOf(one), one]));
      version = all.version;
      synced = true;
    }
    const changes = await api.watch(path, version, signal);
    for await (const line of createInterface({ input: changes })) take(JSON.parse(line));
  };

  const take = ({ type, object }: { readonly type: string; readonly object: T }): void => {
    if (type === "ERROR") {
      const { code = 0, message = "" } = object as {
        readonly code?: number;
        readonly message?: string;
      };
      throw new ApiError(code, message);
    }
    version = object.metadata.resourceVersion;
    if (type === "DELETED") objects.delete(keyOf(object));
    else if (type !== "BOOKMARK") set(object);
  };

  const set = (object: T): void => {
    const known = objects.get(keyOf(object));
    if (known && isNewer(known.metadata.resourceVersion, object.metadata.resourceVersion)) return;
    objects.set(keyOf(object), keep(object));
  };

  const run = async (): Promise<void> => {
    let pause = FIRST_WAIT_MS;
    while (!signal.aborted) {
      const before = version;
      try {
        await follow();
        problem = undefined;
        pause = FIRST_WAIT_MS; // the server ends each watch some time
      } catch (error) {
        if (signal.aborted) return;
        // The server has forgotten what came after this version.
        if (error instanceof ApiError && error.status === GONE) version = "";
        else {
          problem = `${path} could not be watched: ${error instanceof Error ? error.message : error}`;
          say(problem);
        }
        pause = version === before ? Math.min(LONGEST_WAIT_MS, 2 * pause) : FIRST_WAIT_MS;
      }
      // It differs for each watch, so that all do not ask a server at once when it comes back.
      await wait(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => {}); // aborted
    }
  };
  void run();

  return {
    get synced() {
      return synced;
    },
    get problem() {
      return problem;
    },
    values: () => objects.values(),
    get: (name, namespace) => objects.get(`${namespace ?? ""}/${name}`),
    put(object) {
      if (isNewer(object.metadata.resourceVersion, version)) set(object);
    },
  };
}

const keyOf = ({ metadata: { namespace, name } }: Named): string => `${namespace ?? ""}/${name}`;

/** Versions of one kind are whole numbers of any length that grow (since Kubernetes 1.35). */
const isNewer = (one: string, other: string): boolean =>
  one.length === other.length ? one > other : one.length > other.length;
