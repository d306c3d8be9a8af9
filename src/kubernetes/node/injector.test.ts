import { expect, test } from "vitest";
import { clientEdits } from "#client";
import { Injector } from "./injector.ts";

const edits = clientEdits("/run/cotenant", "/opt/cotenant/lib/libcotenant.so");
const noClaims = { lookAt: async () => true, knows: () => true, gives: () => false };
const injector = () =>
  new Injector({
    ...{ path: "", edits, ready: () => true, isExcluded: () => false, lacking: () => undefined },
    ...{ podOf: () => undefined, claims: noClaims, say: () => {} },
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
    ...{ podOf: () => undefined, claims: noClaims, say: (line) => void said.push(line) },
  });
  const preloading = (value: string) =>
    container("main", { podSandboxId: "a", mounts, env: [`LD_PRELOAD=${value}`] });
  one.synchronize([sandbox("a")], [preloading(`${edits.environment.LD_PRELOAD}:/own.so`)]);
  named.synchronize([sandbox("a")], [preloading("/own.so")]);
  expect(said).toEqual([
    "The container main of default/a runs without Cotenant's library, because its own LD_PRELOAD replaces the one that names the library.",
  ]);
});

const known = (more: object) => ({
  metadata: { name: "a", uid: "a", resourceVersion: "1" },
  spec: {
    containers: [{ name: "main", resources: { claims: [{ name: "gpu" }] } }],
    resourceClaims: [{ name: "gpu", resourceClaimName: "one" }],
  },
  status: {},
  ...more,
});

test("a container whose claim is not known in time is named until it is known to give no GPU", async () => {
  let knows = false;
  const one = new Injector({
    ...{ path: "", edits, ready: () => true, isExcluded: () => false, lacking: () => undefined },
    claims: { lookAt: async () => knows, knows: () => knows, gives: () => false },
    ...{ podOf: () => known({}), say: () => {} },
  });
  await one.create(sandbox("a"), container("main"));
  expect(one.missed.map(({ because }) => because)).toEqual([
    "the API server did not tell the node part of the pod's claims in time",
  ]);
  knows = true;
  expect(one.missed).toEqual([]);
  expect(await one.create(sandbox("a"), container("main"))).toBe(undefined);
});

test("a claim of Cotenant's own driver gives a high pod no library", async () => {
  const one = new Injector({
    ...{ path: "", edits, ready: () => true, isExcluded: () => false, lacking: () => undefined },
    claims: { lookAt: async () => true, knows: () => true, gives: () => true },
    podOf: () =>
      known({
        spec: {
          containers: [{ name: "main", resources: { claims: [{ name: "gpu" }] } }],
          resourceClaims: [{ name: "gpu", resourceClaimName: "cotenant-1" }],
        },
      }),
    say: () => {},
  });
  expect(await one.create(sandbox("a"), container("main"))).toBe(undefined);
});
