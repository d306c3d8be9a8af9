// High pods get the library from the webhook when they are created, and are never refused.
import { describe, expect, test } from "vitest";
import { whyNot } from "../here.ts";
import * as pods from "../pods.ts";
import { admittingCluster } from "./admitting.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests of high pods, because ${why}`);

describe.skipIf(why !== undefined)("pods of the class high", () => {
  const { tryPod, admitted } = admittingCluster();

  test("state objectives of an engine's requests, which their containers get", async () => {
    const pod = pods.high();
    pod.metadata.annotations = {
      ...pod.metadata.annotations,
      "cotenant.io/objective": "ttft.p99=200ms tpot.p99=50ms",
    };
    const { spec } = await admitted(pod, "privileged");
    const env = spec.containers[0]?.env?.map(({ name, value }) => `${name}=${value}`);
    expect(env).toContain("COTENANT_SLO_TTFT_US=200000");
    expect(env).toContain("COTENANT_SLO_TPOT_US=50000");
  });

  test("get the library in an init container and a sidecar that ask for a GPU, too", async () => {
    const pod = pods.high();
    const limits = { "nvidia.com/gpu": "1" };
    const one = (name: string) => ({ name, image: "none", resources: { limits } });
    pod.spec.initContainers = [one("warm"), { ...one("engine"), restartPolicy: "Always" }];
    const { spec } = await admitted(pod, "privileged");
    for (const container of spec.initContainers ?? [])
      expect(container.env?.map(({ name }) => name)).toContain("LD_PRELOAD");
  });

  test("get the library in front of their own, in namespaces that allow folders of the machine", async () => {
    const pod = pods.high();
    const [main] = pod.spec.containers;
    if (main)
      main.env = [
        { name: "LD_PRELOAD", value: "/usr/lib/libtcmalloc.so.4" },
        { name: "OWN", value: "1" },
      ];
    const { spec } = await admitted(pod, "privileged");
    const env = Object.fromEntries(
      spec.containers[0]?.env?.map((one) => [one.name, one.value]) ?? [],
    );
    expect(env).toEqual({
      OWN: "1",
      COTENANT_CLASS: "high",
      COTENANT_SOCKET: "/run/cotenant/shared/agent.sock",
      COTENANT_SLO: "slowdown=10%",
      COTENANT_SLO_SLOWDOWN: "100",
      LD_PRELOAD: "/opt/cotenant/lib/libcotenant.so:/usr/lib/libtcmalloc.so.4",
    });
    const mounted = spec.containers[0]?.volumeMounts?.map(({ name, mountPath, readOnly }) => {
      const volume = spec.volumes?.find((one) => one.name === name);
      return readOnly ? `${volume?.hostPath?.path} ${mountPath}` : mountPath;
    });
    expect(mounted).toEqual(
      expect.arrayContaining([
        "/opt/cotenant/lib /opt/cotenant/lib",
        "/run/cotenant/shared /run/cotenant/shared",
      ]),
    );
    expect(spec.containers[1]?.env).toBeUndefined();
    expect(spec.schedulingGates).toBeUndefined();
  });

  test.each(["default", "privileged-by-nodes"])(
    "are left to their nodes in the namespace %s",
    async (namespace) => {
      const { spec } = await admitted(pods.high(), namespace);
      expect(spec.containers[0]?.env).toBeUndefined();
      expect(spec.volumes?.some(({ hostPath }) => hostPath)).toBe(false);
    },
  );

  test.each<readonly [string, (pod: pods.Pod) => void, string]>([
    [
      "whose objective can't be read",
      ({ metadata }) => {
        metadata.annotations = {
          "cotenant.io/class": "high",
          "cotenant.io/objective": "p98=1ms",
        };
      },
      'cotenant.io/objective: "p98=1ms" is neither p99=TIME nor slowdown=PERCENT',
    ],
    [
      "whose objectives contradict each other",
      ({ metadata }) => {
        metadata.annotations = {
          "cotenant.io/class": "high",
          "cotenant.io/objective": "p99=1ms p99=2ms",
        };
      },
      'cotenant.io/objective: "p99=1ms p99=2ms" states p99 twice; state it once. The pod has no objective.',
    ],
    [
      "whose preloaded libraries come from elsewhere",
      ({ spec }) => {
        const [main] = spec.containers;
        const from = { configMapKeyRef: { name: "settings", key: "preload" } };
        if (main) main.env = [{ name: "LD_PRELOAD", valueFrom: from }];
      },
      "The container main runs without Cotenant's library",
    ],
    [
      "that mounts the library itself",
      ({ spec }) => {
        const [main] = spec.containers;
        spec.volumes = [{ name: "own", hostPath: { path: "/srv/cotenant" } }];
        if (main) main.volumeMounts = [{ name: "own", mountPath: "/opt/cotenant/lib" }];
      },
      "runs without Cotenant's library: it mounts /opt/cotenant/lib itself.",
    ],
    [
      "that has a volume of the same name",
      ({ spec }) => {
        spec.volumes = [{ name: "cotenant-1", hostPath: { path: "/srv" } }];
      },
      "the pod has a volume named cotenant-1 already.",
    ],
    [
      "without a GPU",
      ({ spec }) => spec.containers.shift(),
      "No container asks for nvidia.com/gpu",
    ],
    [
      "whose GPU comes by a claim",
      ({ spec }) => {
        const [main] = spec.containers;
        if (main) main.resources = { claims: [{ name: "gpu" }] };
        spec.resourceClaims = [{ name: "gpu", resourceClaimName: "of-nvidia" }];
      },
      "A container that has a GPU by a claim gets Cotenant's library from its node",
    ],
  ])("a pod %s is admitted with a warning", async (_, change, sentence) => {
    const pod = pods.high();
    change(pod);
    const { status, stderr } = await tryPod(pod, "privileged");
    expect(status).toBe(0);
    expect(stderr).toContain(`Warning: `);
    expect(stderr).toContain(sentence);
  });
});
