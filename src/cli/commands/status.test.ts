import { expect, test } from "vitest";
import { exampleStatus } from "../../../test/agent/example.ts";
import { describe } from "./status.ts";

test("a status for people: each GPU, who is on it, and who has no slot", () => {
  expect(describe(exampleStatus)).toMatchInlineSnapshot(`
    "Agent 1, up 10 s: mode isolated, policy strict, 0.5 % CPU, 57 MiB

    Fake GPU GPU-a, 20.0 GiB of 80.0 GiB used, 75 % busy, 1980 MHz, healthy
      high   pid     a second      p50      p99   waited  active  ahead   memory
      serve   42  25.0 bursts  2.00 ms  4.00 ms  2.90 ms   5.0 %  60 us  3.0 GiB
      best-effort  pid  active   ahead  held   turn  memory
      train         43    70 %  0.0 us  10 %  0.0 %   0 MiB
      best-effort work gets at most 50 % of the GPU during requests, by the Pairing default/cotenant-1
      untracked process: pid 9 other (0 MiB) holds no slot, so it is neither protected nor gated"
  `);
});

test("an engine has its steps in the table, whose bursts take seconds where it queues ahead", () => {
  const [gpu] = exampleStatus.gpus;
  const [service] = gpu?.high ?? [];
  if (!gpu || !service) throw new Error("no service");
  const steps = {
    ...{ stepsPerS: 192.1, burstsEach: 1, stepP50Us: 5100, stepP99Us: 17_400 },
    ...{ stepWaitP50Us: 4000, stepWaitP99Us: 16_000, gapShare: 0, waitShare: 0.8, kinds: [] },
  };
  const engine = { ...service, unit: "step" as const, steps, burstP50Us: 6e6, burstsPerS: 0.5 };
  const shown = describe({ ...exampleStatus, gpus: [{ ...gpu, high: [engine] }] });
  expect(shown).toContain("192.1 steps  5.10 ms  17.40 ms  16.00 ms");
});

test("a client of another agent is named with that agent, a GPU that can't be read with the reason", () => {
  const [gpu] = exampleStatus.gpus;
  if (!gpu?.reading) throw new Error("no GPU");
  const other = {
    pid: 9,
    name: "other",
    memory: 0,
    agentPid: 77,
    because: undefined,
    launch: undefined,
    command: undefined,
    identity: undefined,
  };
  const lost = { memoryTotal: undefined, memoryUsed: undefined, utilisation: undefined };
  const reading = { ...gpu.reading, ...lost, smClockMHz: undefined, error: "GPU is lost" };
  const shown = describe({ ...exampleStatus, gpus: [{ ...gpu, reading, strangers: [other] }] });
  expect(shown).toContain(
    'Fake GPU GPU-a, healthy, not to be read: the driver says "GPU is lost"\n',
  );
  expect(shown).toContain(
    "untracked process: pid 9 other (0 MiB) is a client of another agent (pid 77), and the two agents do not coordinate: give both the same COTENANT_DIR",
  );
});

test("counters that something writes over are named", () => {
  const [gpu] = exampleStatus.gpus;
  const shown = (implausible: number) => {
    const high = gpu?.high.map((client) => ({ ...client, implausible })) ?? [];
    return describe({ ...exampleStatus, gpus: gpu ? [{ ...gpu, high }] : [] });
  };
  expect(shown(0)).not.toContain("implausible counters");
  expect(shown(1)).toContain(
    "serve (pid 42): implausible counters in 1 sample; the program probably overwrites shared memory",
  );
  expect(shown(2)).toContain("in 2 samples");
});

test("a client that has not come back from a restart is marked", () => {
  const [gpu] = exampleStatus.gpus;
  const high = gpu?.high.map((client) => ({ ...client, connected: false })) ?? [];
  const gpus = gpu ? [{ ...gpu, high }] : [];
  expect(describe({ ...exampleStatus, gpus })).toContain("detached: serve   42");
});

test.each([
  { mode: "isolated", says: "mode isolated suits these clients: turns are enough" },
  {
    mode: "mps",
    says: 'mode mps would suit these clients better, at the next "cotenant up": turns are enough',
  },
] as const)("advice to use mode $mode", ({ mode, says }) => {
  const [gpu] = exampleStatus.gpus;
  const recommended = { mode, reason: "turns are enough" };
  expect(describe({ ...exampleStatus, gpus: gpu ? [{ ...gpu, recommended }] : [] })).toContain(
    `\n  ${says}\n`,
  );
});

test("an agent for all users of a machine, which has no mode mps, is recommended none", () => {
  const [gpu] = exampleStatus.gpus;
  const recommended = { mode: "mps", reason: "turns are enough" } as const;
  const agent = { ...exampleStatus.agent, scope: "machine" } as const;
  const text = describe({ ...exampleStatus, agent, gpus: gpu ? [{ ...gpu, recommended }] : [] });
  expect(text).not.toContain("would suit these clients better");
});

test("before the first client of a software GPU there is nothing to show", () => {
  expect(describe({ ...exampleStatus, gpus: [] })).toContain("No client has come yet.");
});

test.each([
  { objective: undefined, says: "this policy does not act on it" },
  { objective: { state: "learning", level: 0 }, says: "learning, level 0" },
  { objective: { state: "met", level: 3 }, says: "met, level 3" },
  { objective: { state: "impossible", level: 0 }, says: "not met even solo, level 0" },
] as const)("an objective, and that it is $says", ({ objective, says }) => {
  const [gpu] = exampleStatus.gpus;
  const slo = { sloP99Us: 10_000, sloSlowdown: 0.05, objective };
  const high = gpu?.high.map((client) => ({ ...client, ...slo })) ?? [];
  expect(describe({ ...exampleStatus, gpus: gpu ? [{ ...gpu, high }] : [] })).toContain(
    `\n  objective of serve (pid 42): 10.00 ms p99 and slowdown 5.0 %, ${says}\n`,
  );
});

test("what of a client is not protected is said, and of others nothing", () => {
  const [gpu] = exampleStatus.gpus;
  const shown = (change: object) =>
    describe({
      ...exampleStatus,
      gpus: gpu ? [{ ...gpu, high: gpu.high.map((client) => ({ ...client, ...change })) }] : [],
    });
  expect(shown({ caveats: 1 })).toContain("\n  serve (pid 42) is one rank of several: ");
  expect(shown({ caveats: 2 })).toContain("\n  serve (pid 42) uses several GPUs: ");
  expect(shown({ caveats: 4 })).toContain(
    "\n  serve (pid 42) has loaded a library past Cotenant: ",
  );
  expect(shown({ caveats: 8 })).toContain(
    "\n  serve (pid 42) uses more contexts or streams at once than Cotenant follows: ",
  );
  expect(shown({ unhooked: 7 })).toContain(
    "\n  serve (pid 42) has made 7 calls that Cotenant does not know: ",
  );
  expect(shown({})).not.toContain("serve (pid 42)");
});

test("commits of a gang are shown, and those that timed out", () => {
  const [gpu] = exampleStatus.gpus;
  const gang = { ranks: 2, commits: 40, timeouts: 1, progress: 3 };
  const bestEffort = gpu?.bestEffort.map((client) => ({ ...client, gang })) ?? [];
  expect(describe({ ...exampleStatus, gpus: gpu ? [{ ...gpu, bestEffort }] : [] })).toContain(
    "\n  train (pid 43) is one of 2 ranks: 40 of its collectives were committed, of which 1 timed out waiting for other ranks\n",
  );
  expect(describe(exampleStatus)).not.toContain("ranks");
});

test("a client that holds best-effort work half of the time only is named", () => {
  const [gpu] = exampleStatus.gpus;
  const high = gpu?.high.map((client) => ({ ...client, sharedShare: 0.4 })) ?? [];
  expect(describe({ ...exampleStatus, gpus: gpu ? [{ ...gpu, high }] : [] })).toContain(
    "\n  serve (pid 42) shares the GPU's time with best-effort work until one of its launches is seen to complete\n",
  );
});

test("a client that starts up is named, with how much of the time it shared", () => {
  const [gpu] = exampleStatus.gpus;
  const high = gpu?.high.map((client) => ({ ...client, starting: true, sharedShare: 0.48 })) ?? [];
  expect(describe({ ...exampleStatus, gpus: gpu ? [{ ...gpu, high }] : [] })).toContain(
    "\n  serve (pid 42) is starting: best-effort work had the GPU for 48 % of its active time;",
  );
});

test.each([
  [
    "within",
    "at most 30 % of the GPU during requests, by the Pairing a/b; the parameters in force give no more without it",
  ],
  ["none", "but the policy in force can't be limited by a share"],
] as const)("a share that has the effect %s is told as one", (effect, says) => {
  const shareBound = { share: 0.3, from: "the Pairing a/b", effect };
  const gpus = exampleStatus.gpus.map((gpu) => ({ ...gpu, shareBound }));
  expect(describe({ ...exampleStatus, gpus })).toContain(says);
});

test("in 80 columns names are cut and sentences wrapped; every figure stays", () => {
  const name = "a service whose name takes all of the 47 letters";
  const [gpu] = exampleStatus.gpus;
  const long = <T extends object>(clients: readonly T[] = []) =>
    clients.map((client) => ({ ...client, name, pid: 1_234_567, memoryQuota: 20 * 2 ** 30 }));
  const high = long(gpu?.high).map((one) => ({ ...one, sloP99Us: 10_000 }));
  const gpus = gpu ? [{ ...gpu, high, bestEffort: long(gpu.bestEffort) }] : [];
  const shown = describe({ ...exampleStatus, gpus }, 80);
  expect(Math.max(...shown.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(shown).toMatchInlineSnapshot(`
    "Agent 1, up 10 s: mode isolated, policy strict, 0.5 % CPU, 57 MiB

    Fake GPU GPU-a, 20.0 GiB of 80.0 GiB used, 75 % busy, 1980 MHz, healthy
      high       pid     a second      p50      p99   waited  active  ahead   memory
      a se…  1234567  25.0 bursts  2.00 ms  4.00 ms  2.90 ms   5.0 %  60 us  3.0 GiB
      best-effort                pid  active   ahead  held   turn             memory
      a service whose name…  1234567    70 %  0.0 us  10 %  0.0 %  0 MiB of 20.0 GiB
      best-effort work gets at most 50 % of the GPU during requests, by the Pairing
      default/cotenant-1
      objective of a service whose name takes all of the 47 letters (pid 1234567):
      10.00 ms p99, this policy does not act on it
      untracked process: pid 9 other (0 MiB) holds no slot, so it is neither
      protected nor gated"
  `);
});
