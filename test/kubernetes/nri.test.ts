// Containers of high pods get the library from the node as the real containerd creates them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientEdits } from "#client";
import { Injector } from "#kubernetes/node";
import { until } from "./cluster.ts";
import { whyNot } from "./here.ts";
import { type Containerd, type Created, startContainerd } from "./machines/containers.ts";
import { whyNoMachines } from "./machines/pods.ts";

const why = whyNot() ?? whyNoMachines();
if (why !== undefined) console.error(`SKIPPED: containers that containerd creates, because ${why}`);

const IMAGE_PRELOADS = "/usr/lib/libtcmalloc.so";
const edits = clientEdits("/run/cotenant", "/opt/cotenant/lib/libcotenant.so");
const LIBRARY = edits.environment.LD_PRELOAD;

describe.skipIf(why !== undefined)("with containerd", () => {
  let containerd: Containerd;
  let injector: Injector;
  let pods = 0;
  let stop = new AbortController();
  const said: string[] = [];
  const known = new Map<string, readonly string[]>();
  let lacking: string | undefined;
  const folder = mkdtempSync(join(tmpdir(), "cotenant-nri-"));

  const start = () => {
    stop = new AbortController();
    injector = new Injector({
      ...{ path: containerd.nri, edits, ready: () => true, lacking: () => lacking },
      claims: { lookAt: async () => true, knows: () => true, gives: () => false },
      podOf: (uid) => {
        const containers = known.get(uid);
        return (
          containers && {
            metadata: { name: "serve", uid, resourceVersion: "1" },
            spec: {
              containers: containers.map((name) => ({
                ...{ name, resources: { limits: { "nvidia.com/gpu": "1" } } },
              })),
            },
            status: {},
          }
        );
      },
      isExcluded: (namespace) => namespace === "left-out",
      say: (line) => void said.push(line),
    });
    ended = injector.run(stop.signal);
  };
  let ended: Promise<void>;
  beforeAll(async () => {
    containerd = await startContainerd([`LD_PRELOAD=${IMAGE_PRELOADS}`, "MADE_BY=image"]);
    start();
    await connected();
  });
  afterAll(async () => {
    stop.abort();
    await ended;
    await containerd?.stop();
    rmSync(folder, { recursive: true });
  });

  const connected = () =>
    until("containerd has the plugin", [containerd.program], async () => !injector.problem);

  /** A new pod, of which the node knows that these containers ask for a GPU. */
  function newPod(gpuContainers: readonly string[] | undefined, change: object = {}) {
    const uid = `uid-${pods++}`;
    if (gpuContainers !== undefined) known.set(uid, gpuContainers);
    const annotations = { "cotenant.io/class": "high", "cotenant.io/objective": "p99=40ms" };
    return { uid, name: `serve-${uid}`, namespace: "default", annotations, ...change };
  }
  const valuesOf = ({ env }: Created, name: string) =>
    env.filter((one) => one.startsWith(`${name}=`)).map((one) => one.slice(name.length + 1));
  const ours = ({ mounts }: Created) =>
    edits.folders.map(({ containerPath }) => [
      ...mounts.flatMap(({ destination, source }) => (destination === containerPath ? source : [])),
    ]);

  test("a container that asks for a GPU gets the library in front of the image's, and what was stated", async () => {
    const created = await containerd.create(newPod(["main"]), {
      ...{ name: "main", env: { OWN: "1", COTENANT_CLASS: "best-effort" } },
    });
    expect(valuesOf(created, "LD_PRELOAD")).toEqual([`${LIBRARY}:${IMAGE_PRELOADS}`]);
    expect(valuesOf(created, "COTENANT_CLASS")).toEqual(["high"]);
    expect(valuesOf(created, "COTENANT_SOCKET")).toEqual([edits.environment.COTENANT_SOCKET]);
    expect(valuesOf(created, "COTENANT_SLO_P99_US")).toEqual(["40000"]);
    expect([valuesOf(created, "OWN"), valuesOf(created, "MADE_BY")]).toEqual([["1"], ["image"]]);
    expect(ours(created)).toEqual(edits.folders.map(({ hostPath }) => [hostPath]));
    expect(injector.missed).toEqual([]);
  });

  test("other containers and pods stay as they are", async () => {
    const cases = [
      { pod: newPod(["main"]), name: "sidecar" },
      { pod: newPod(["main"], { annotations: {} }), name: "main" },
      {
        pod: newPod(["main"], { annotations: { "cotenant.io/class": "best-effort" } }),
        name: "main",
      },
      { pod: newPod(["main"], { namespace: "left-out" }), name: "main" },
    ];
    for (const { pod, name } of cases) {
      const created = await containerd.create(pod, { name });
      expect(valuesOf(created, "LD_PRELOAD")).toEqual([IMAGE_PRELOADS]);
      expect(ours(created)).toEqual([[], []]);
    }
    expect(injector.missed).toEqual([]);
  });

  test("what the webhook has injected is not injected again", async () => {
    const mounts = Object.fromEntries(
      edits.folders.map(({ hostPath, containerPath }) => [containerPath, hostPath]),
    );
    const created = await containerd.create(newPod(["main"]), {
      ...{ name: "main", mounts, env: { LD_PRELOAD: LIBRARY } },
    });
    // If the variable is there twice, the container has the last one.
    expect(valuesOf(created, "LD_PRELOAD").at(-1)).toBe(LIBRARY);
    expect(ours(created)).toEqual(edits.folders.map(({ hostPath }) => [hostPath]));
  });

  test("a container that can't be adjusted starts without the library, and is named with the cause", async () => {
    const at = edits.folders[0]?.containerPath ?? "";
    const own = newPod(["main"]);
    const created = await containerd.create(own, { name: "main", mounts: { [at]: folder } });
    expect(valuesOf(created, "LD_PRELOAD")).toEqual([IMAGE_PRELOADS]);
    expect(injector.missed).toEqual([
      { pod: `default/${own.name}`, container: "main", because: `it mounts ${at} itself` },
    ]);
    known.delete(own.uid);

    const both = newPod(["main"]);
    const twice = await containerd.create(both, { name: "main", env: { LD_PRELOAD: "/own.so" } });
    expect(valuesOf(twice, "LD_PRELOAD").at(-1)).toBe("/own.so");
    expect(injector.missed.map(({ because }) => because)).toEqual([
      expect.stringContaining("its image and its pod both set LD_PRELOAD"),
    ]);
    known.delete(both.uid);

    const unknown = newPod(undefined);
    const without = await containerd.create(unknown, { name: "main" });
    expect(valuesOf(without, "LD_PRELOAD")).toEqual([IMAGE_PRELOADS]);
    expect(said.at(-1)).toBe(
      `The container main of default/${unknown.name} runs without Cotenant's library, because the API server did not tell the node part of the pod in time.`,
    );

    lacking = "there is no folder";
    const late = newPod(["main"]);
    await containerd.create(late, { name: "main" });
    expect(injector.missed.map(({ because }) => because)).toEqual([lacking]);
    lacking = undefined;
    // It has failed, and kubelet creates it again.
    await containerd.create({ ...late, name: `${late.name}-again` }, { name: "main" });
    expect(injector.missed).toEqual([]);
  });

  test("a container that was created while nobody was connected is named, and others go on", async () => {
    stop.abort();
    await ended;
    const alone = newPod(["main"]);
    const created = await containerd.create(alone, { name: "main" });
    expect(valuesOf(created, "LD_PRELOAD")).toEqual([IMAGE_PRELOADS]);
    start();
    await connected();
    expect(injector.missed).toEqual([
      {
        ...{ pod: `default/${alone.name}`, container: "main" },
        because: "it was created while the node part did not run",
      },
    ]);
    const next = await containerd.create(newPod(["main"]), { name: "main" });
    expect(valuesOf(next, "LD_PRELOAD")).toEqual([`${LIBRARY}:${IMAGE_PRELOADS}`]);

    // containerd is killed, and comes back without the interface, then with it.
    await containerd.restart(false);
    await until("it is noticed", [containerd.program], async () => {
      return injector.problem?.startsWith("the container runtime has no Node Resource") === true;
    });
    const plain = await containerd.create(newPod(["main"]), { name: "main" });
    expect(valuesOf(plain, "LD_PRELOAD")).toEqual([IMAGE_PRELOADS]);
    await containerd.restart(true);
    await connected();
    const back = await containerd.create(newPod(["main"]), { name: "main" });
    expect(valuesOf(back, "LD_PRELOAD")).toEqual([`${LIBRARY}:${IMAGE_PRELOADS}`]);
  });
});
