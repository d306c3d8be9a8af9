// The suites of CI: which tests each runs, how, and which files it depends on besides those that its tests import or name.

export interface Suite {
  readonly name: string;
  /** Globs of its test files. Empty: `command` runs no tests. */
  readonly tests: readonly string[];
  /** vitest's configuration; without one, `command` is all that runs. */
  readonly config?: string;
  /** Programs that run before the tests, or instead of them, each with its arguments. */
  readonly command?: readonly (readonly string[])[];
  /** Globs of inputs that the import graph does not show; "!" excludes. */
  readonly inputs: readonly string[];
  /** Runs `cotenant` with any command, and not only with those that its tests name. */
  readonly allCommands?: true;
  /** Preparations that must have ended before. */
  readonly needs?: readonly Preparation[];
  /** Suites with the same word here run one at a time. */
  readonly alone?: string;
  /** Mostly waits, so it runs concurrently with suites that compute. */
  readonly waits?: true;
  /** Computes, and nothing in it depends on time: runs at a lower priority than what runs beside it. */
  readonly patient?: true;
  /** Has tests that need CUDA's tools. Where CUDA_HOME names these, as in CI, a skipped test fails. */
  readonly needsCuda?: true;
  /** A variable that nobody but its owner may state. Where it is not set, tests of `needsCuda` may skip after all. */
  readonly needsVariable?: string;
  /** Runs in every run of CI. */
  readonly always?: true;
}

export type Preparation = "kubernetes" | "thread" | "address";

/** Commands that run before some suites, in the background, in this order. On a new machine each takes minutes. */
export const preparations: Readonly<Record<Preparation, readonly string[]>> = {
  kubernetes: ["scripts/kubernetes-tools"],
  thread: ["make", "-s", "-C", "native", "SANITIZE=thread"],
  address: ["make", "-s", "-C", "native", "SANITIZE=address"],
};

/** Inputs of every suite: the choice itself, packages, and what builds. */
export const commonInputs: readonly string[] = [
  "scripts/ci/**",
  ".ci/run",
  "package.json",
  "package-lock.json",
  ".npmrc",
  "scripts/setup.mjs",
  "scripts/progress.mjs",
  "scripts/cuda-headers",
  "scripts/cuda-tools",
  "tsconfig.json",
  "test/count-reporter.ts",
  "test/retries.ts",
];

/** Inputs of what runs `cotenant`, in addition to the modules of the commands. */
export const bundleInputs: readonly string[] = [
  "bin/**",
  "vite.config.ts",
  "src/dashboard/page/**",
];

/** The native parts that the tests of the whole run: shipped ones, the software GPU and the tests' programs. */
export const nativeInputs: readonly string[] = ["native/**", "bench/cost/*.{cpp,mk}"];

/** Native parts that a TypeScript module loads, which imports do not show. */
export const loadedByModule: Readonly<Record<string, readonly string[]>> = {
  "lab/gpu/gate/gate.ts": ["native/Makefile", "native/gate/**", "native/generated/**"],
  "src/agent/gpus/turns.ts": ["native/Makefile", "native/gate/**", "native/generated/**"],
};

/** Programs for C++ that tests start by name. */
const clients = ["test/{interposer,softgpu,e2e,nccl,programs,protocol}/**/*.{cpp,h,c}"];

/** Tests beside the code. */
const unit = (name: string, ...folders: string[]): Suite => ({
  name: `unit-${name}`,
  tests: folders.map((folder) => `${folder}/**/*.test.ts`),
  config: "vitest.config.ts",
  patient: true,
  inputs: [...folders.map((folder) => `${folder}/**`), "!**/*.test.ts"],
});

/** Folders of the product. */
const src = (...folders: string[]) => folders.map((folder) => `src/${folder}`);
/** Folders of the laboratory. */
const lab = (...folders: string[]) => folders.map((folder) => `lab/${folder}`);

/** Reads recordings that are kept as data. */
const withData = (suite: Suite): Suite => ({ ...suite, inputs: [...suite.inputs, "test/data/**"] });

/** Reads networks that a script fetches. */
const withNetworks = (suite: Suite): Suite => ({
  ...suite,
  inputs: [...suite.inputs, "scripts/onnx-networks"],
});

/** Tests under test/, with everything in their folders that is no test. */
const programs = (name: string, folders: readonly string[], more: Partial<Suite> = {}): Suite => ({
  name,
  tests: [...folders.map((folder) => `test/${folder}/**/*.test.ts`), "!**/*.{slow,soak}.test.ts"],
  config: "vitest.config.ts",
  ...more,
  inputs: [...around(folders), ...(more.inputs ?? [])],
});

/** Reads all sources, and is no reason to run the other tests of its folder when one of them changes. */
const CLOCK = "test/e2e/clock.test.ts";

/** The tests of their folder in which an agent runs. */
const PTXAS = ["test/ptx/ptxas.test.ts", "test/ptx/triton.test.ts"];

const slow = (name: string, folders: readonly string[], more: Partial<Suite> = {}): Suite => ({
  name: `slow-${name}`,
  tests: folders.map((folder) => `test/${folder}/**/*.slow.test.ts`),
  config: "test/suites/slow.config.ts",
  waits: true,
  ...more,
  inputs: [...around(folders), ...nativeInputs, ...clients, ...(more.inputs ?? [])],
});

const around = (folders: readonly string[]): string[] => [
  ...folders.map((folder) => `test/${folder}/**`),
  "!**/*.test.ts",
];

const sanitized = (name: string, folders: readonly string[], needs: Preparation[]): Suite => ({
  name: `sanitize-${name}`,
  tests: folders.map((folder) => `test/${folder}/*.test.ts`),
  config: "test/suites/sanitize.config.ts",
  needs,
  inputs: [...around(folders), ...nativeInputs, ...clients, "test/thread.supp"],
});

const kubernetes = (name: string, tests: readonly string[], more: Partial<Suite> = {}): Suite => ({
  name: `kubernetes-${name}`,
  tests: tests.map((test) => `test/kubernetes/${test}.test.ts`),
  config: "test/suites/kubernetes.config.ts",
  needs: ["kubernetes"],
  alone: "machines",
  waits: true,
  ...more,
  inputs: [
    ...around(["kubernetes"]),
    ...["scripts/kubernetes-tools", "deploy/kubernetes/**"],
    ...(more.inputs ?? []),
  ],
});

const managed = ["matching", "reports", "harm", "rights", "injectors", "older", "worth"].map(
  (name) => `manager/${name}`,
);

const packed = [
  ...["scripts/manual.ts", "deploy/**", "python/**", "workloads/**", "bench/jobs.json"],
  ...["bench/scenarios/**", "bench/traces/**", "bench/cluster/scenarios/**", "bench/profiles/**"],
  ...["bench/soc/*.{json,onnx}", "scripts/package.mjs", "scripts/wheel.py", "LICENSE"],
];

/**
 * In the order in which they start. Of those that wait, the ones that take longest come first. What computes begins with
 * patient suites: the slow tests beside them start agents and clients by the hundred, as those of e2e do.
 */
export const suites: readonly Suite[] = [
  programs("choice", ["ci"], { always: true }),
  {
    name: "lint",
    tests: [],
    command: [
      ["npx", "biome", "ci", "."],
      ["scripts/style", "--check"],
      ["npx", "tsc", "-b"],
      ["npx", "knip"],
      ["npx", "tsx", "scripts/generate.ts", "--check"],
    ],
    patient: true,
    // Linters read all code; the generator also documents and results.
    inputs: ["**"],
  },
  programs("interposer", ["interposer"], { inputs: [...nativeInputs, ...clients] }),
  programs("ptx", ["ptx"], {
    tests: ["test/ptx/**/*.test.ts", "!**/*.soak.test.ts", ...PTXAS.map((one) => `!${one}`)],
    patient: true,
    needsCuda: true,
    inputs: ["src/ptx/**", "lab/emulator/**", ...nativeInputs],
  }),
  programs("ptxas", ["ptx"], {
    tests: PTXAS,
    needsCuda: true,
    inputs: ["src/ptx/**", "lab/emulator/**", "scripts/triton", ...nativeInputs, ...clients],
  }),
  unit("policy", ...src("policy"), ...lab("gpu", "policies")),
  withNetworks(unit("plans", ...lab("cluster", "soc", "manager", "llm-model", "evaluation"))),
  unit("model", ...src("predict", "place", "profile", "llm")),
  { ...unit("ptx", ...src("ptx"), ...lab("emulator")), needsCuda: true },
  withData(unit("agent", ...src("agent", "health", "client", "dashboard", "doctor", "kubernetes"))),
  unit(
    "core",
    ...src("core", "protocol", "engines", "load", "measure", "cli"),
    ...lab("bench", "cli", "drawing", "gangs"),
  ),
  programs("e2e", ["e2e"], {
    tests: ["test/e2e/**/*.test.ts", "!**/*.{slow,soak}.test.ts", `!${CLOCK}`],
    inputs: [...nativeInputs, ...clients, "test/versions/*"],
  }),
  programs("clock", ["e2e"], {
    tests: [CLOCK],
    inputs: ["{src,lab}/**", ...nativeInputs, ...clients],
  }),
  programs("softgpu", ["softgpu", "driver"], {
    inputs: [...nativeInputs, ...clients],
    needsCuda: true,
  }),
  programs("nccl", ["nccl"], {
    inputs: [...nativeInputs, ...clients, "scripts/nccl-header"],
  }),
  programs("runtimes", ["runtimes"], {
    needsCuda: true,
    needsVariable: "COTENANT_RUNTIME_KEY",
    inputs: [...nativeInputs, ...clients, "scripts/cuda-programs"],
  }),
  // The same waits and stops are written in C++ and in PTX, and the emulator is what runs the latter.
  programs("gate", ["gate", "protocol"], {
    inputs: [...nativeInputs, ...clients, "src/ptx/**", "lab/emulator/**"],
  }),
  programs("random-programs", ["programs"], { inputs: [...nativeInputs, ...clients] }),
  programs("agent", ["agent", "dashboard"], { inputs: [...nativeInputs, ...clients] }),
  programs("cli", ["cli", "lab", "load", "llm", "python"], {
    inputs: [...nativeInputs, ...clients, "python/**", "workloads/**"],
    allCommands: true,
  }),
  programs("setup", ["setup"], {
    inputs: [...nativeInputs, "test/**/*.cpp", "{src,lab}/**", "scripts/**"],
    allCommands: true,
  }),
  programs("deploy", ["deploy"], {
    inputs: [...nativeInputs, ...clients, "deploy/**", "scripts/**"],
  }),
  programs("guide", ["guide"], {
    inputs: [...nativeInputs, ...clients, "README.md", "docs/guide/**", "python/**"],
    allCommands: true,
  }),
  programs("model", ["gpu", "policy", "predict", "soc", "reports", "bench", "profile"], {
    inputs: [...nativeInputs, ...clients, "test/data/**", "bench/profiles/**"],
    needsCuda: true,
  }),
  programs("cost", ["cost"], { inputs: [...nativeInputs, "bench/cost/**"] }),
  {
    name: "documents",
    tests: ["test/*.test.ts", "test/structure/*.test.ts"],
    config: "vitest.config.ts",
    inputs: ["**"],
  },
  sanitized("interposer", ["interposer", "softgpu", "nccl"], ["thread", "address"]),
  sanitized("gate", ["gate"], ["address"]),
  slow("e2e", ["e2e"], { tests: ["test/e2e/**/*.slow.test.ts", "!test/e2e/memory/**"] }),
  slow("memory", ["e2e"], { tests: ["test/e2e/memory/*.slow.test.ts"] }),
  kubernetes("control", [
    "admission/admission",
    "admission/high",
    "at-size",
    "cluster",
    "guide",
    "install",
    "publish",
    ...managed,
  ]),
  // Releases run it: its programs take minutes to compile. Without COTENANT_CONTROLLERS its tests are skipped.
  kubernetes("controllers", ["controllers/*"]),
  kubernetes("machines", ["eviction", "machines", "nri"], {
    inputs: [...nativeInputs, ...clients, "deploy/**", "scripts/image"],
  }),
  {
    name: "packaged",
    tests: ["test/packaged/*.test.ts"],
    config: "test/suites/packaged.config.ts",
    inputs: [...around(["packaged"]), ...nativeInputs, ...clients, ...packed],
    allCommands: true,
    waits: true,
  },
  // Its blocks of shell run what documents name.
  slow("guide", ["guide"], {
    inputs: ["README.md", "docs/guide/**", "python/**", "workloads/**", "bench/**", "test/**"],
    allCommands: true,
  }),
  slow("model", ["policy", "gpu", "profile", "bench"], {
    inputs: [...packed, "test/data/**", "bench/**/*.py"],
  }),
  {
    name: "containers",
    tests: ["test/containers/*.test.ts"],
    config: "test/suites/containers.config.ts",
    alone: "machines",
    waits: true,
    inputs: [...around(["containers"]), ...nativeInputs, ...clients, "deploy/**", "scripts/image"],
  },
  {
    name: "tidy",
    tests: [],
    command: [["scripts/style", "--tidy"]],
    patient: true,
    inputs: ["native/**", ".clang-tidy", "scripts/style"],
  },
];
