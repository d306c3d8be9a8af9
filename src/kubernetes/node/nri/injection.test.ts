import { expect, test } from "vitest";
import { clientEdits } from "#client";
import { adjustmentOf, hasLibrary, obstacleIn } from "./injection.ts";
import type { Container, Sandbox } from "./wire.ts";

const edits = clientEdits("/run/cotenant", "/opt/cotenant/lib/libcotenant.so");
const LIBRARY = edits.environment.LD_PRELOAD;

const sandbox = (annotations: Record<string, string> = {}): Sandbox => ({
  ...{ id: "1", name: "serve", uid: "uid", namespace: "default", annotations },
});
const container = (change: Partial<Container> = {}): Container => ({
  ...{ id: "2", podSandboxId: "1", name: "main", state: 1, env: [], mounts: [], createdAt: 0 },
  ...change,
});
const mountAt = (destination: string, source: string) => ({
  ...{ destination, source, type: "bind", options: [] },
});
const envOf = (of: Container, annotations = {}) =>
  Object.fromEntries(
    adjustmentOf(sandbox(annotations), of, edits)
      .env.filter(({ key }) => !key.startsWith("-"))
      .map(({ key, value }) => [key, value]),
  );

test("a container gets what makes it a client, and keeps what it preloads behind the library", () => {
  expect(envOf(container())).toEqual({
    ...{ COTENANT_CLASS: "high", LD_PRELOAD: LIBRARY },
    COTENANT_SOCKET: edits.environment.COTENANT_SOCKET,
  });
  const preloads = container({ env: ["LD_PRELOAD=/a.so:/b.so", "LD_PRELOADS=/no.so"] });
  expect(envOf(preloads).LD_PRELOAD).toBe(`${LIBRARY}:/a.so:/b.so`);
  expect(envOf(container({ env: ["LD_PRELOAD="] })).LD_PRELOAD).toBe(LIBRARY);
});

test("each variable is taken back before it is set, so that another plugin's does not stand in the way", () => {
  const keys = adjustmentOf(sandbox(), container(), edits).env.map(({ key }) => key);
  for (const key of ["LD_PRELOAD", "COTENANT_CLASS", "COTENANT_SOCKET"])
    expect(keys.indexOf(`-${key}`)).toBe(keys.indexOf(key) - 1);
});

test("the objective of the pod is stated, and one that can't be read is none", () => {
  const stated = { "cotenant.io/objective": "slowdown=10%" };
  expect(envOf(container(), stated).COTENANT_SLO_SLOWDOWN).toBe("100");
  const wrong = { "cotenant.io/objective": "fast" };
  expect(Object.keys(envOf(container(), wrong)).filter((key) => /SLO/.test(key))).toEqual([]);
});

test("a container that has folders and variable from the webhook has the library, and not with the folders alone", () => {
  const env = [`LD_PRELOAD=${edits.environment.LD_PRELOAD}:/own.so`];
  const mounts = edits.folders.map((one) => mountAt(one.containerPath, one.hostPath));
  const has = (more: Partial<Container>) => hasLibrary(container(more), edits);
  expect([has({ mounts, env }), has({ mounts, env: [] }), has({ env })]).toEqual([
    ...[true, false, false],
  ]);
  expect(has({ mounts: mounts.slice(1), env })).toBe(false);
});

test("a folder of its own in our place, and a variable of image and pod, are obstacles", () => {
  const obstacle = (of: Container) => obstacleIn(of, edits, adjustmentOf(sandbox(), of, edits));
  expect(obstacle(container({ env: ["LD_PRELOAD=/a.so"] }))).toBe(undefined);
  const at = edits.folders[1]?.containerPath ?? "";
  expect(obstacle(container({ mounts: [mountAt(at, "/elsewhere")] }))).toBe(
    `it mounts ${at} itself`,
  );
  expect(obstacle(container({ env: ["LD_PRELOAD=/a.so", "LD_PRELOAD=/b.so"] }))).toContain(
    "its image and its pod both set LD_PRELOAD",
  );
});
