// Every example of every help text, as the user of an installed package types it, on a machine without a GPU.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { commandsOf, cotenant } from "#cli";
import { laboratory } from "#lab";
import { install } from "./installed.ts";

const { home, root, env, sh, remove } = install();
afterAll(remove);
const own = (name: string) => join(home, name);
afterEach(() => {
  // It would be a client of the next agent.
  if (existsSync(own("pid"))) process.kill(Number(readFileSync(own("pid"), "utf8")), "SIGKILL");
  rmSync(own("pid"), { force: true });
  sh("cotenant down");
  rmSync(env.COTENANT_DIR ?? "", { recursive: true, force: true });
});

/**
 * Run by test/kubernetes, by test/dashboard, by a suite of their own and by test/llm: a cluster, a browser, minutes on an idle
 * machine, and a server. And by bench.test.ts, beside these.
 */
const elsewhere = /^cotenant (cluster|dashboard|try|load-llm)\b|^cotenant-lab bench synthetic\b/;

const commands = await Promise.all([cotenant, laboratory].map(commandsOf));
const examples = commands
  .flat()
  .flatMap((one) => one.examples ?? [])
  .filter((example) => !elsewhere.test(example));

/** These need a GPU that this machine has not, and say so. */
const refused = [
  "cotenant up --mode mps",
  "cotenant up --set splitProductsUs=0",
  "cotenant up --system --grants grants.json",
  "cotenant-lab bench bert-graph+gpt2-train --load 0.2",
];
/** These go on until they are interrupted. */
const endless = ["cotenant events --json --follow", "cotenant logs --lines 20 --follow"];

const hasGpu = existsSync("/dev/nvidiactl");
if (hasGpu) console.error("SKIPPED: examples without a GPU, because there is one.");

const load = (options: string, seconds = 3) => `import os
os.execvp("cotenant", "cotenant load ${options} --seconds ${seconds}".split())
`;
const results = readdirSync("bench/results").filter((name) =>
  /-11-20-h200-bench-\w+-\w+\+\w+-train\.json$/.test(name),
);

// The user's own files.
writeFileSync(own("serve.py"), load("--graph --rate 60"));
writeFileSync(own("train.py"), load("--arrivals closed"));
writeFileSync(own("server"), "#!/bin/sh\nexec python3 serve.py\n", { mode: 0o755 });
writeFileSync(own("long.py"), load("--arrivals closed --memory 64MiB", 20));
writeFileSync(own("save.sh"), "#!/bin/sh\n", { mode: 0o755 });
writeFileSync(own("grants.json"), '{ "version": 1, "grants": [] }\n', { mode: 0o600 });
writeFileSync(own("result.json"), readFileSync(`bench/results/${results[0]}`));
copyFileSync("test/packaged/kernel.ptx", own("kernel.ptx"));
copyFileSync("test/lab/cluster-pairs.json", own("pairs.json"));

/** Actions that a user has taken before. */
function before(example: string): void {
  if (/^cotenant (run|why|events|logs) /.test(example)) ok("cotenant up --gpu soft");
  if (/^cotenant (park|resume|move|evict) train/.test(example)) {
    const twoGpus = "COTENANT_SOFTGPU=devices=2";
    ok(`${twoGpus} cotenant up --gpu soft`);
    ok(
      `${twoGpus} cotenant run --class best-effort --movable --name train -- python3 long.py >log 2>&1 & echo $! >pid`,
    );
    while (!ok("cotenant status --json").includes('"train"')) nap(100);
    nap(1000); // in which it takes its memory
    if (example.startsWith("cotenant resume")) ok("cotenant park train");
  }
  const [, service] = /^cotenant objective (\w+)/.exec(example) ?? [];
  if (service !== undefined) {
    ok("cotenant up --gpu soft");
    ok(`cotenant run --class high --name ${service} -- python3 long.py >log 2>&1 & echo $! >pid`);
    while (!hasSlot(service)) nap(100);
  }
  if (example.startsWith("cotenant-lab predict train")) {
    const files = results.map((name) => join(process.cwd(), "bench/results", name));
    ok(`cotenant-lab predict collect ${files.join(" ")} --out measured.json`);
  }
}

/** A program that was launched has one as soon as it uses the GPU. */
function hasSlot(service: string): boolean {
  const { gpus } = JSON.parse(ok("cotenant status --json")) as {
    gpus: readonly { high?: readonly { name: string }[] }[];
  };
  return gpus.some(({ high = [] }) => high.some(({ name }) => name === service));
}

function nap(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function ok(line: string): string {
  const { status, stdout, stderr } = sh(line);
  expect(status, `${line}\n${stderr}`).toBe(0);
  return stdout;
}

/** As it stands there, but with a process that runs, a GPU that is there, and a folder that a user may write to. */
const typed = (example: string) =>
  example
    .replace("why 4711", `why ${process.pid}`)
    .replace("GPU-37a7f3fa", "GPU-c07e4a17-50f7-4690-8000-000000000001")
    .replace("/etc/cdi/", `${home}/`);

/** Commands that start programs on a GPU without an agent: the software GPU is the machine's. */
const gpu = { LD_LIBRARY_PATH: join(root, "build/native/softgpu") };

test.skipIf(hasGpu).each(examples.filter((one) => ![...refused, ...endless].includes(one)))(
  "%s",
  (example) => {
    before(example);
    const { status, stdout, stderr } = sh(
      typed(example),
      example.startsWith("cotenant profile ") ? gpu : {},
    );
    expect(status, stderr).toBe(0);
    const written = [...example.matchAll(/--(?:out|output|svg|report|chart) (\S+)/g)].map(
      ([, name = ""]) => join(home, basename(name)),
    );
    for (const file of written) expect(statSync(file).size).toBeGreaterThan(0);
    expect(stdout + stderr + written.join()).not.toBe("");
  },
);

test.skipIf(hasGpu).each(refused)("%s: says that there is no NVIDIA GPU", (example) => {
  expect(examples).toContain(example);
  expect(sh(typed(example))).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^cotenant(-lab)?: There is no NVIDIA GPU/m),
  });
});

test.skipIf(hasGpu).each(endless)(
  "%s: prints what there is, and ends when interrupted",
  async (example) => {
    expect(examples).toContain(example);
    before(example);
    const child = spawn("sh", ["-c", `exec ${example}`], { cwd: home, env });
    const [first] = await once(child.stdout, "data");
    child.kill("SIGINT");
    await once(child, "close");
    expect(String(first)).toContain("started");
  },
);

test("the version, the manual page and the library for programs are there", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(ok("cotenant --version").trim()).toBe(version);
  for (const file of ["dist/cotenant.1", "native/include/cotenant.h", "LICENSE"])
    expect(existsSync(join(root, file)), file).toBe(true);
});

test("it needs neither a compiler nor a source of ours", () => {
  expect(sh("g++ --version").status).toBe(127);
  for (const sources of ["src", "lab"])
    expect(existsSync(join(root, sources)), sources).toBe(false);
});
