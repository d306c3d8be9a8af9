// Pods of every kind when they are created beside Cotenant's webhook and policies.
import { describe, expect, test } from "vitest";
import { until } from "../cluster.ts";
import { whyNot } from "../here.ts";
import { claim, deviceClass, sliceOn } from "../objects.ts";
import * as pods from "../pods.ts";
import { admittingCluster } from "./admitting.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests of admission, because ${why}`);

const GATE = "cotenant.io/match";
const CLAIM_NAME = /^cotenant-[0-9a-f]{8}-[0-9a-f-]{27}$/;
describe.skipIf(why !== undefined)("pods", () => {
  const { cluster, tryPod, admitted, webhook } = admittingCluster();
  const read = async (...args: string[]) =>
    JSON.parse(await cluster().ask(["get", ...args, "-o", "json"]));
  const create = (object: object, ...args: string[]) =>
    cluster().ask(["create", "-f", "-", ...args], object);

  describe("of others", () => {
    test.each<readonly [string, (pod: pods.Pod) => void]>([
      ["that says nothing", () => {}],
      [
        "with a GPU and a high priority",
        ({ spec }) => {
          spec.priorityClassName = "system-node-critical";
          spec.containers = [
            { ...pods.container("main"), resources: { limits: { "nvidia.com/gpu": "1" } } },
          ];
        },
      ],
      [
        "with gates and claims of its own",
        ({ spec }) => {
          spec.schedulingGates = [{ name: "example.org/later" }];
          spec.resourceClaims = [{ name: "device", resourceClaimName: "mine" }];
        },
      ],
    ])("a pod %s is left as it is", async (_, change) => {
      const pod = pods.plain();
      change(pod);
      const is = await admitted(pod, "privileged");
      // The same pod in a namespace that Cotenant leaves out.
      expect(withoutTokens(is)).toEqual(withoutTokens(await admitted(pod, "privileged-left-out")));
    });

    test.each(["left-out", "kube-system"])(
      "pods with a class in the namespace %s are left as they are",
      async (namespace) => {
        const pod = pods.bestEffort();
        delete pod.metadata.ownerReferences;
        pod.spec.containers = [{ name: "main", image: "none", resources: {} }];
        const { spec } = await admitted(pod, namespace);
        expect(spec.schedulingGates).toBeUndefined();
        expect(spec.resourceClaims).toBeUndefined();
        const service = await admitted(pods.high(), namespace);
        expect(service.spec.containers[0]?.env).toBeUndefined();
      },
    );

    test("a pod is changed and deleted as ever", async () => {
      await create(pods.asObject(pods.plain()));
      await cluster().ask(["annotate", "pod", "plain", "example.org/note=1"]);
      await cluster().ask(["annotate", "pod", "plain", "example.org/note-"]);
      await cluster().ask(["wait", "--for=condition=Ready", "--timeout=300s", "pod/plain"]);
      await cluster().ask(["delete", "pod", "plain"]);
    });
  });

  describe("of the class best-effort", () => {
    test("each pod of a Job waits for a claim of its own", async () => {
      const pod = pods.bestEffort();
      pod.spec.containers.push(pods.container("second"));
      await create(pods.jobOf(pod, "pair", 2));
      const made = async () => (await read("pods", "-l", "app=pair")).items;
      await until("the Job has two pods", [], async () => (await made()).length === 2);
      const two: readonly pods.Pod[] = await made();
      for (const { metadata, spec } of two) {
        // The Cluster Autoscaler may remove its node.
        expect(metadata.annotations).toMatchObject({
          "cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
        });
        expect(spec.schedulingGates).toEqual([{ name: GATE }]);
        expect(spec.resourceClaims).toEqual([
          { name: "cotenant", resourceClaimName: expect.stringMatching(CLAIM_NAME) },
        ]);
        for (const { resources } of spec.containers)
          expect(resources.claims).toEqual([{ name: "cotenant" }]);
      }
      expect(new Set(two.map(({ spec }) => spec.resourceClaims?.[0]?.resourceClaimName)).size).toBe(
        2,
      );
      await cluster().ask([
        ...["wait", "--for=jsonpath={.status.conditions[0].reason}=SchedulingGated"],
        ...["--timeout=300s", "pods", "-l", "app=pair"],
      ]);
      await cluster().ask(["delete", "job", "pair"]);
    });

    test.each(["Deployment", "StatefulSet", "DaemonSet"])("a pod of a %s waits", async (kind) => {
      const name = kind.toLowerCase();
      await create(pods.controllerOf(kind, pods.bestEffort(), name));
      const made = async () => (await read("pods", "-l", `app=${name}`)).items;
      await until("there is a pod", [], async () => (await made()).length === 1);
      const [{ spec }] = await made();
      expect(spec.schedulingGates).toEqual([{ name: GATE }]);
      expect(spec.nodeName).toBeUndefined();
      await cluster().ask(["delete", kind, name]);
    });

    test("gates and claims of its own stay, but nobody else names Cotenant's claim", async () => {
      const pod = pods.bestEffort();
      pod.spec.schedulingGates = [{ name: "example.org/later" }];
      pod.spec.resourceClaims = [
        { name: "mine", resourceClaimName: "mine" },
        { name: "cotenant", resourceClaimName: "somebody-elses" },
      ];
      pod.spec.containers = [
        {
          ...pods.container("main"),
          resources: { limits: { cpu: "1", memory: "1Gi" }, claims: [{ name: "mine" }] },
        },
      ];
      const { spec } = await admitted(pod);
      expect(spec.schedulingGates).toEqual([{ name: "example.org/later" }, { name: GATE }]);
      expect(spec.resourceClaims).toEqual([
        { name: "mine", resourceClaimName: "mine" },
        { name: "cotenant", resourceClaimName: expect.stringMatching(CLAIM_NAME) },
      ]);
      expect(spec.containers[0]?.resources).toMatchObject({
        limits: { cpu: "1", memory: "1Gi" },
        claims: [{ name: "mine" }, { name: "cotenant" }],
      });
    });

    test.each([
      ["true", { OWN: "1", COTENANT_MOVABLE: "1" }],
      ["false", { OWN: "1" }],
    ])("memory may be parked where cotenant.io/movable is %s", async (movable, expected) => {
      const pod = pods.bestEffort();
      pod.metadata.annotations = { ...pod.metadata.annotations, "cotenant.io/movable": movable };
      const [main] = pod.spec.containers;
      if (main) main.env = [{ name: "OWN", value: "1" }];
      const { spec } = await admitted(pod);
      const env = spec.containers[0]?.env?.map(({ name, value }) => [name, value]) ?? [];
      expect(Object.fromEntries(env)).toEqual(expected);
    });

    test("limits of the pod as a whole are enough", async () => {
      const pod = pods.bestEffort();
      pod.spec.resources = { limits: { cpu: "1", memory: "1Gi" } };
      pod.spec.containers = [{ name: "main", image: "none", resources: {} }];
      expect((await admitted(pod)).spec.schedulingGates).toEqual([{ name: GATE }]);
    });

    test("a pod is scheduled where its claim is, once there is one and the gate is gone", async () => {
      await create(deviceClass);
      await create(sliceOn("a", []));
      await create(pods.jobOf(pods.bestEffort(), "placed"));
      const made = async () => (await read("pods", "-l", "app=placed")).items;
      await until("there is a pod", [], async () => (await made()).length === 1);
      const [{ metadata, spec }] = await made();
      await create(claim(spec.resourceClaims[0].resourceClaimName));
      const removal = [{ op: "remove", path: "/spec/schedulingGates" }];
      await cluster().ask([
        ...["patch", "pod", metadata.name, "--type=json", "--patch", JSON.stringify(removal)],
      ]);
      await cluster().ask([
        ...["wait", "--for=jsonpath={.spec.nodeName}=a", "--timeout=300s", `pod/${metadata.name}`],
      ]);
      await cluster().ask(["delete", "job", "placed"]);
    });

    const one = "The best-effort pod train";
    test.each<readonly [string, (pod: pods.Pod) => void, string]>([
      [
        "that no controller made",
        ({ metadata }) => delete metadata.ownerReferences,
        `${one} has no controller that would replace it after an eviction: create it by a Job or another controller.`,
      ],
      [
        "without a limit of memory",
        ({ spec }) => {
          spec.initContainers = [
            { ...pods.container("fetch"), resources: { limits: { cpu: "1" } } },
          ];
        },
        `${one} has containers without limits of cpu and memory, which could starve the service beside it: set resources.limits of fetch.`,
      ],
      [
        "without limits",
        ({ spec }) => {
          spec.containers = ["a", "b"].map((name) => ({ name, image: "none", resources: {} }));
        },
        "set resources.limits of a, b.",
      ],
      [
        "that does not say how much GPU memory it uses",
        ({ metadata }) => {
          metadata.annotations = {
            "cotenant.io/class": "best-effort",
            "cotenant.io/memory": "much",
          };
        },
        `${one} does not say how much GPU memory it may use: set the annotation cotenant.io/memory, such as 20Gi.`,
      ],
      [
        "that does not say clearly whether its memory may be parked",
        ({ metadata }) => {
          metadata.annotations = { ...metadata.annotations, "cotenant.io/movable": "maybe" };
        },
        `${one} has the annotation cotenant.io/movable "maybe": set it to true or false, or leave it out.`,
      ],
      [
        "whose cost of a move can't be read",
        ({ metadata }) => {
          metadata.annotations = { ...metadata.annotations, "cotenant.io/move-cost": "little" };
        },
        `${one} has the annotation cotenant.io/move-cost "little": set it to the time of work that an eviction costs the pod, such as 5min, or leave it out.`,
      ],
      [
        "that also asks for a whole GPU",
        ({ spec }) => {
          const [main] = spec.containers;
          if (main?.resources.limits)
            main.resources.limits = { ...main.resources.limits, "nvidia.com/gpu": "1" };
        },
        `${one} asks for a GPU of its own, but best-effort pods share one: remove nvidia.com/gpu from the resources of main.`,
      ],
      [
        "of the usual priority",
        ({ spec }) => delete spec.priorityClassName,
        `${one} has the priority 0, which must be negative: set priorityClassName, such as cotenant-best-effort.`,
      ],
      [
        "of a low priority that may preempt",
        ({ spec }) => {
          spec.priorityClassName = "low-but-preempting";
        },
        `${one} may preempt other pods: set a priorityClassName whose class has preemptionPolicy Never, such as cotenant-best-effort.`,
      ],
      [
        "that names its node",
        ({ spec }) => {
          spec.nodeName = "a";
        },
        "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
      ],
    ])("a pod %s is refused", async (_, change, sentence) => {
      const pod = pods.bestEffort();
      change(pod);
      const { status, stderr } = await tryPod(pod);
      expect(status).not.toBe(0);
      expect(stderr).toContain(sentence);
    });

    test("the owner of a Job reads the sentence in its events", async () => {
      const pod = pods.bestEffort();
      delete pod.spec.priorityClassName;
      await create(pods.jobOf(pod, "too-important"));
      const events = async () =>
        cluster().ask(["events", "--for", "job/too-important", "-o", "json"]);
      await until("there is an event", [], async () => (await events()).includes("FailedCreate"));
      expect(await events()).toContain("has the priority 0, which must be negative");
      await cluster().ask(["delete", "job", "too-important"]);
    });
  });

  describe("of any class", () => {
    test("a class that is not one is refused", async () => {
      const pod = pods.high();
      pod.metadata.annotations = { "cotenant.io/class": "hihg" };
      const { status, stderr } = await tryPod(pod);
      expect(status).not.toBe(0);
      expect(stderr).toContain(
        'The pod serve has the class "hihg": set the annotation cotenant.io/class to high or best-effort.',
      );
    });

    test("a class stays what it was", async () => {
      await create(pods.asObject(pods.high()));
      await create(pods.asObject(pods.plain()));
      const annotate = (pod: string, what: string) =>
        cluster().kubectl(["annotate", "--overwrite", "pod", pod, what]);
      for (const [pod, what, says] of [
        ["serve", "cotenant.io/class=best-effort", 'from "high" to "best-effort"'],
        ["serve", "cotenant.io/class-", 'from "high" to ""'],
        ["plain", "cotenant.io/class=high", 'from "" to "high"'],
      ] as const) {
        const { status, stderr } = await annotate(pod, what);
        expect(status, what).not.toBe(0);
        expect(stderr).toContain(`The class of the pod ${pod} can not change ${says}`);
      }
      expect((await annotate("serve", "example.org/note=1")).status).toBe(0);
      await cluster().ask(["delete", "pod", "serve", "plain"]);
    });
  });

  describe("while the webhook", () => {
    const others = async () => {
      expect((await tryPod(pods.plain(), "privileged")).status).toBe(0);
      const { spec } = await admitted(pods.high(), "privileged");
      expect(spec.containers[0]?.env).toBeUndefined();
    };

    test("hangs, only best-effort pods are refused, and a service starts", async () => {
      webhook()?.hang();
      await others();
      await create(pods.asObject(pods.high()), "-n", "privileged");
      await cluster().ask([
        ...["wait", "--for=condition=Ready", "--timeout=300s", "pod/serve", "-n", "privileged"],
      ]);
      await cluster().ask(["delete", "pod", "serve", "-n", "privileged"]);
      const { status, stderr } = await tryPod(pods.bestEffort());
      expect(status).not.toBe(0);
      expect(stderr).toContain('failed calling webhook "best-effort.cotenant.io"');
    });

    test("is away, only best-effort pods are refused", async () => {
      await webhook()?.stop();
      await others();
      const { status, stderr } = await tryPod(pods.bestEffort());
      expect(status).not.toBe(0);
      expect(stderr).toContain('failed calling webhook "best-effort.cotenant.io"');
    });

    test("is not configured, only best-effort pods are refused, with a sentence", async () => {
      await cluster().ask(["delete", "mutatingwebhookconfiguration", "cotenant"]);
      const refused = async () => (await tryPod(pods.bestEffort())).stderr;
      await until("the API server has noticed", [], async () =>
        (await refused()).includes("was not given the scheduling gate"),
      );
      expect(await refused()).toContain(
        "The best-effort pod train was not given the scheduling gate cotenant.io/match and a claim: check that the MutatingWebhookConfiguration cotenant is there and names the webhook best-effort.cotenant.io.",
      );
      await others();
    });
  });
});

/** The specification without the volume of a token, whose name is drawn again for each pod. */
const withoutTokens = ({ spec }: pods.Pod): unknown =>
  JSON.parse(JSON.stringify(spec).replaceAll(/kube-api-access-[a-z0-9]+/g, "token"));
