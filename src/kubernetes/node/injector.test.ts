import { expect, test } from "vitest";
import { clientEdits } from "#client";
import { Injector } from "./injector.ts";

const edits = clientEdits("/run/cotenant", "/opt/cotenant/lib/libcotenant.so");
const injector = () =>
  new Injector({
    ...{ path: "", edits, ready: () => true, isExcluded: () => false, lacking: () => undefined },
    ...{ podOf: () => undefined, say: () => {} },
  });
const sandbox = (uid: string) => ({
  ...{ id: uid, name: uid, uid, namespace: "default" },
  annotations: { "cotenant.io/class": "high" },
});
const container = (name: string, more: object = {}) => ({
  ...{ id: name, podSandboxId: "", name, state: 0, env: [], mounts: [], createdAt: 0 },
  ...more,
});

test("one container waits for a pod that nobody knows, and all others are created at once", async () => {
  const one = injector();
  const timed = async (uid: string, name: string) => {
    const begin = performance.now();
    await one.create(sandbox(uid), container(name));
    return performance.now() - begin;
  };
  const first = await timed("a", "main");
  const others =
    (await timed("a", "second")) + (await timed("b", "main")) + (await timed("c", "main"));
  expect(others).toBeLessThan(first / 2);
});

test("a container that has our mounts and preloads something else is named", () => {
  const one = injector();
  const mounts = edits.folders.map(({ hostPath: source, containerPath: destination }) => ({
    ...{ source, destination, type: "bind", options: [] },
  }));
  const said: string[] = [];
  const named = new Injector({
    ...{ path: "", edits, ready: () => true, isExcluded: () => false, lacking: () => undefined },
    ...{ podOf: () => undefined, say: (line) => void said.push(line) },
  });
  const preloading = (value: string) =>
    container("main", { podSandboxId: "a", mounts, env: [`LD_PRELOAD=${value}`] });
  one.synchronize([sandbox("a")], [preloading(`${edits.environment.LD_PRELOAD}:/own.so`)]);
  named.synchronize([sandbox("a")], [preloading("/own.so")]);
  expect(said).toEqual([
    "The container main of default/a runs without Cotenant's library, because its own LD_PRELOAD replaces the one that names the library.",
  ]);
});
