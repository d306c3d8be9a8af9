import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { About } from "../importers/about.ts";
import { formatProfile, parseProfile } from "../model/document.ts";
import type { WorkloadProfile } from "../model/types.ts";
import { findPeriod } from "./period.ts";
import { importRecorded, importRecording } from "./recording.ts";

const about: About = { name: "net", kind: "inference", file: "net.json", source: "serve.py" };

const kernel = (name: string, us: number | undefined, more: object = {}) => ({
  name,
  grid: [264, 1, 1],
  block: [256, 1, 1],
  registers: 32,
  staticSharedBytes: 0,
  dynamicSharedBytes: 0,
  blocksPerSm: 4,
  launches: 9,
  samples: us === undefined ? 0 : 3,
  ...(us !== undefined && {
    timed: "backlog",
    durationNs: { p50: us * 1000, p95: us * 1100 },
  }),
  ...more,
});
const conv = kernel("conv", 40);
const relu = kernel("relu", 5, { grid: [12, 1, 1], blocksPerSm: 8 });

/** A step's letter, or the step and the CPU time before it in us. "c20" is a launch of the first kernel. */
type Report = string | { readonly step: object; readonly us: number };
const letters: Readonly<Record<string, object>> = {
  a: { kernel: 0 },
  b: { kernel: 1 },
  c: { kernel: 2 },
  g: { graph: 0 },
  i: { copy: "in", bytes: 4096 },
  o: { copy: "out", bytes: 256 },
  w: { waitNs: 50_000 },
};
const steps = (...told: readonly Report[]) => {
  let atNs = 0;
  return told.map((one) => {
    const step = typeof one === "string" ? (letters[one.slice(0, 1)] ?? {}) : one.step;
    const gapNs = 1000 * (typeof one === "string" ? Number(one.slice(1)) : one.us);
    atNs += gapNs + ("waitNs" in step ? 50_000 : 0);
    return { ...step, atNs: atNs - ("waitNs" in step ? 50_000 : 0), gapNs };
  });
};
const words = (text: string, times = 1): string[] =>
  Array.from({ length: times }, () => text.split(" ")).flat();

const recording = (changes: object) => ({
  version: 1,
  kind: "recording",
  program: "python",
  gpu: { name: "NVIDIA H200", computeCapability: "9.0", sms: 132 },
  severalGpus: false,
  stepsSeen: 100,
  launchesLost: 0,
  kernels: [conv, relu],
  graphs: [],
  ...changes,
});
const importSteps = (changes: object, more: Partial<About> = {}): WorkloadProfile =>
  importRecording(JSON.stringify(recording(changes)), { ...about, ...more });

/** Steps in the letters above, with their gaps in us. */
const showSteps = ({ sequence, kernels }: WorkloadProfile): string =>
  sequence
    .map((step) => {
      if ("kernel" in step)
        return `${kernels[step.kernel]?.name}${step.gapNs === undefined ? "" : step.gapNs / 1000}`;
      return "copy" in step ? `${step.copy}:${step.bytes}` : step.mark;
    })
    .join(" ");

describe("one request", () => {
  test("is the part that repeats, from the pause before it to its last wait", () => {
    const profile = importSteps({
      steps: steps(...words("a9 a9 w9"), ...words("i300 a20 b10 a10 o5 w2", 8), ...words("b1 w1")),
    });
    expect(showSteps(profile)).toBe("in:4096 conv20 relu10 conv10 out:256");
    // From the copy to the end of the wait.
    expect(profile.soloNs).toBe(97_000);
    expect(profile.kernels).toEqual([
      {
        name: "conv",
        grid: [264, 1, 1],
        block: [256, 1, 1],
        registers: 32,
        staticSharedBytes: 0,
        dynamicSharedBytes: 0,
        durationNs: { p50: 40_000, p95: 44_000 },
        smsNeeded: 66,
        class: "unknown",
      },
      expect.objectContaining({ name: "relu", smsNeeded: 2 }),
    ]);
    expect(parseProfile(formatProfile(profile), "net")).toEqual(profile);
  });

  test("may contain a wait", () => {
    const profile = importSteps({ steps: steps(...words("a500 w5 b20 w5", 6)) });
    expect(showSteps(profile)).toBe("conv0 relu25");
  });

  test("has the median gaps and bytes", () => {
    const odd = { step: { copy: "in", bytes: 9 }, us: 7 };
    const profile = importSteps({
      steps: steps(...words("i9 a20 w1", 3), odd, ...words("a900 w1"), ...words("i9 a30 w1", 5)),
    });
    expect(showSteps(profile)).toBe("in:4096 conv30");
  });

  test("is the part that most often lies between two waits if requests differ", () => {
    const profile = importSteps({
      steps: steps(
        ...words("a9 b9 w1 a9 b9 w1 b7 w1 a9 b9 w1 a3 a3 w1 a9 b9 w1 b1 a1 w1 a9 b9 w1"),
      ),
    });
    expect(showSteps(profile)).toBe("conv0 relu9");
  });

  test("is not a layer that repeats within it", () => {
    const profile = importSteps({ steps: steps(...words("i9"), ...words("a5 b5", 20), "w1") });
    expect(profile.sequence).toHaveLength(41);
    expect(profile.soloNs).toBeUndefined();
  });

  test("is the whole recording if nothing repeats, and waits in a row count once", () => {
    const profile = importSteps({ steps: steps(...words("w1 a1 a2 b3 w4 w5 a6 b7 w8 w8")) });
    expect(showSteps(profile)).toBe("conv0 conv2 relu3 conv10 relu7");
  });
});

describe("one iteration", () => {
  const training = { kind: "training" } as const;

  test("repeats without waiting, and begins after the longest pause", () => {
    const profile = importSteps({ steps: steps(...words("b3 a200 b3 b3", 7)) }, training);
    expect(showSteps(profile)).toBe("conv200 relu3 relu3 relu3");
    expect(profile.soloNs).toBe(209_000);
  });

  test("is longer than a layer that repeats within it", () => {
    const iteration = [...words("i50 a5 a5"), ...words("a5 b5", 12), ...words("b5 w2")];
    const profile = importSteps(
      { steps: steps(...[1, 2, 3, 4].flatMap(() => iteration)) },
      training,
    );
    expect(profile.sequence).toHaveLength(28);
    expect(profile.sequence[1]).toEqual({ kernel: 0, gapNs: 57_000 });
  });
});

describe("a graph", () => {
  const graphs = [
    {
      launches: 5,
      samples: 4,
      timed: "idle",
      durationNs: { p50: 100_000, p95: 120_000 },
      steps: [{ kernel: 0 }, { copy: "out", bytes: 8 }, { kernel: 1 }, { kernel: 2 }],
    },
  ];
  const repeated = steps(...words("g70 w5", 5));

  test("becomes its kernels, and the untimed ones share the rest of its time", () => {
    const kernels = [conv, kernel("tail", undefined), kernel("head", undefined)];
    const profile = importSteps({ kernels, graphs, steps: repeated });
    expect(showSteps(profile)).toBe("conv0 out:8 tail0 head0");
    expect(profile.kernels.map(({ durationNs }) => durationNs.p50)).toEqual([
      40_000, 30_000, 30_000,
    ]);
  });

  test("takes its measured time, whatever its kernels took outside of it", () => {
    const rare = { launches: 1 };
    const kernels = [
      kernel("conv", 20, rare),
      kernel("tail", 10, rare),
      kernel("head", undefined, rare),
    ];
    const profile = importSteps({ kernels, graphs, steps: repeated });
    expect(profile.kernels.map(({ durationNs }) => durationNs.p50)).toEqual([
      44_444, 22_222, 33_333,
    ]);
    expect(profile.kernels[0]?.durationNs.p95).toBe(48_889);
  });

  test("that is made again each time is the same graph", () => {
    const anew = [0, 1, 2, 3].flatMap((graph) => [{ step: { graph }, us: 9 }, "w1"] as Report[]);
    const all = Array.from({ length: 4 }, () => ({ ...graphs[0], steps: [{ kernel: 0 }] }));
    expect(showSteps(importSteps({ graphs: all, steps: steps(...anew) }))).toBe("conv0");
  });

  test("whose nodes could not be read is one kernel on the whole GPU", () => {
    const { steps: _, ...opaque } = graphs[0] ?? { steps: [] };
    const profile = importSteps({ graphs: [opaque], steps: repeated });
    expect(profile.kernels).toEqual([
      expect.objectContaining({
        name: "graph 0",
        smsNeeded: 132,
        durationNs: { p50: 1e5, p95: 1.2e5 },
      }),
    ]);
  });
});

test("the names of its kernels tell the kind of job", () => {
  const kindOf = (name: string) => {
    const changes = { kernels: [conv, kernel(name, 5)], steps: steps("a0", "b0", "w0") };
    return importRecorded(JSON.stringify(recording(changes)), { ...about, kind: undefined }).profile
      .kind;
  };
  expect(kindOf("layer_norm")).toBe("inference");
  expect(kindOf("_ZN2at6native24layer_norm_grad_backward")).toBe("training");
  expect(kindOf("cudnn_wgrad_alg0")).toBe("training");
  expect(kindOf("multi_tensor_apply_kernel")).toBe("training");
});

test("gives the times of its requests on the machine's clock", () => {
  const steadyOf = (changes: object) =>
    importRecorded(JSON.stringify(recording(changes)), about).steady;
  const requests = { steps: steps(...words("a100 w0", 3)) };
  expect(steadyOf(requests)).toBeUndefined();
  // Each request takes 100 us of CPU time and 50 us of waiting. The third begins where the second has ended.
  expect(steadyOf({ ...requests, beganNs: 7e9 })).toEqual({
    fromNs: 7e9 + 100_000,
    toNs: 7e9 + 400_000,
  });
});

test("a kernel that was never timed gets the duration of the nearest one of its name", () => {
  const kernels = [
    kernel("conv", undefined),
    kernel("conv", 10, { grid: [100, 1, 1] }),
    kernel("conv", 30, { grid: [250, 1, 1] }),
  ];
  const profile = importSteps({ kernels, steps: steps(...words("a9 w1", 4)) });
  expect(profile.kernels[0]?.durationNs.p50).toBe(30_000);
});

test("without the driver's occupancy it is computed", () => {
  const { blocksPerSm: _, ...silent } = conv;
  const profile = importSteps({ kernels: [silent], steps: steps(...words("a9 w1", 4)) });
  // An SM has 2,048 threads, a block 256.
  expect(profile.kernels[0]?.smsNeeded).toBe(33);
});

describe("refused", () => {
  const good = steps(...words("a9 w1", 4));
  test.each([
    ["no recording", {}, { kind: "profile" }, "net.json: it is no recording of the interposer."],
    [
      "another version",
      {},
      { version: 2 },
      "net.json, line 1, version: is 2; this Cotenant reads 1.",
    ],
    [
      "several GPUs",
      {},
      { severalGpus: true },
      "net.json, severalGpus: the program used more than one GPU; a profile is of one.",
    ],
    ["no launch", {}, { steps: steps("i1", "w1") }, "net.json, steps: no launch is among them."],
    ["a stray field", {}, { speed: 1 }, "net.json, line 1, speed: does not belong there."],
    [
      "a kernel that is not there",
      {},
      { steps: [{ kernel: 5, atNs: 0, gapNs: 0 }] },
      "net.json, line 1, steps[0].kernel: is 5, but there are only 2 kernels.",
    ],
    [
      "a step of no kind",
      {},
      { steps: [{ atNs: 0, gapNs: 0 }] },
      "net.json, line 1, steps[0]: is no kernel, graph, copy or wait.",
    ],
    [
      "a step without its time",
      {},
      { steps: [{ kernel: 0, gapNs: 0 }] },
      "net.json, line 1, steps[0].atNs: is missing.",
    ],
    [
      "quantiles the wrong way round",
      {},
      { kernels: [{ ...conv, durationNs: { p50: 5, p95: 4 } }] },
      "net.json, line 1, kernels[0].durationNs.p95: is 4, less than p50 (5).",
    ],
    [
      "a kernel nothing is known of",
      {},
      { kernels: [kernel("lost", undefined)] },
      "net.json, kernels[0].durationNs: lost was never timed: let the program run longer.",
    ],
    ["an unknown GPU", {}, { gpu: {} }, "net.json: it does not say which GPU it was recorded on."],
  ])("%s", (_, more, changes, sentence) => {
    expect(() => importSteps({ steps: good, ...changes }, more)).toThrow(sentence);
  });

  test("a file cut short", () => {
    const text = JSON.stringify(recording({ steps: good }), undefined, 1);
    expect(() => importRecording(text.slice(0, 200), about)).toThrow(
      /^net\.json, line \d+, \S+: it ends early: was it cut short\?$/,
    );
  });
});

describe("a period", () => {
  /** The last step is like no other, so the period does not consist of shorter ones. */
  const period = fc.array(fc.nat(5), { maxLength: 30 }).map((steps) => [...steps, 9]);
  /** Steps that are in no period. */
  const other = fc.array(fc.integer({ min: 10, max: 10_000 }), { maxLength: 40 });

  test("is found among other steps", () => {
    fc.assert(
      fc.property(
        period,
        fc.integer({ min: 3, max: 12 }),
        other,
        other,
        (once, times, before, after) => {
          const repeated = Array.from({ length: times }, () => once).flat();
          fc.pre(repeated.length * 3 > before.length + after.length);
          const found = findPeriod(Int32Array.from([...before, ...repeated, ...after]));
          const starts = Array.from({ length: times }, (_, i) => before.length + i * once.length);
          expect(found).toEqual({ length: once.length, starts });
        },
      ),
    );
  });

  test("is found whatever the gaps are", () => {
    const gap = fc.nat(5000);
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "b", "i"), { minLength: 1, maxLength: 20 }),
        fc.array(gap, { minLength: 200, maxLength: 200 }),
        fc.integer({ min: 3, max: 9 }),
        (letters, gaps, times) => {
          fc.pre(letters.some((letter) => letter !== "i"));
          const once = [...letters, "w"];
          const told = Array.from({ length: times }, () => once).flat();
          const profile = importSteps({
            steps: steps(...told.map((one, i) => `${one}${gaps[i]}`)),
          });
          const kinds = showSteps(profile)
            .replace(/conv\d+/g, "a")
            .replace(/relu\d+/g, "b");
          expect(kinds.replaceAll("in:4096", "i").split(" ")).toEqual(letters);
        },
      ),
    );
  });

  test("does not consist of two equal halves", () => {
    expect(findPeriod(Int32Array.from([1, 2, 1, 2, 3, 4, 5]))).toBeUndefined();
  });

  test("of a long recording is found", () => {
    const steps = Int32Array.from({ length: 32_768 }, (_, i) => (i % 900) % 37);
    expect(findPeriod(steps)?.length).toBe(900);
  });
});
