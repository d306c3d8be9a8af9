// Compares the readings of the agent's bindings with those of nvidia-smi at the same time: idle, under load, and the
// agent's judgement of them. No setting of the GPU is changed. The last step lets a kernel of a process of its own
// store to an illegal address, so that the driver reports an XID error; that process alone ends by it.
// node vitals.mjs OUTDIR in the repository; writes OUTDIR/vitals.json; half a minute; needs python3
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openNvml } from "#agent";
import { quantile } from "#core";

/** nvidia-smi's names of what is compared, by ours. */
const queried = {
  memory: ["memory.used", "memory.total"],
  utilisation: ["utilization.gpu"],
  smClockMHz: ["clocks.sm"],
  mostSmClockMHz: ["clocks.max.sm"],
  powerW: ["power.draw"],
  powerLimitW: ["enforced.power.limit"],
  temperatureC: ["temperature.gpu"],
  eccErrors: ["ecc.errors.uncorrected.volatile.total"],
} as const;
type Compared = keyof typeof queried;
const compared = Object.keys(queried) as Compared[];
const REASONS = "clocks_event_reasons.active";

const median = (values: readonly number[]) => quantile(values, 0.5);

const OWN_EVERY_MS = 100;
const SMI_EVERY_MS = 500;

const [out = "."] = process.argv.slice(2);
const sensor = openNvml();
const [first] = sensor.vitals();
if (!first) throw new Error("the driver lists no GPU");
const { uuid } = first;
const node = process.execPath;
const command = ["bin/cotenant"];

const idle = await measure("idle", 4);
const load = start(node, [...command, "load", "--arrivals", "closed", "--seconds", "13"]);
await pause(4000);
const loaded = await measure("under load", 6);
const counters = smi("dmon", "-i", uuid, "--gpm-metrics", "2", "-c", "3");
await ended(load);
const agent = await underAgent();
const xids = await illegalAddress();
const thresholds = smi("-i", uuid, "-q", "-d", "TEMPERATURE");

const result = {
  kind: "vitals",
  date: new Date().toISOString(),
  machine: {
    gpu: sensor.read()[0]?.name,
    driver: smi("--query-gpu=driver_version", "--format=csv,noheader").trim(),
  },
  command: "node build/vitals.mjs OUTDIR",
  slowdownC: sensor.vitals()[0]?.slowdownC,
  phases: [idle, loaded],
  smActivityOfSmi: counters,
  thresholdsOfSmi: thresholds,
  agent,
  xids,
};
writeFileSync(join(out, "vitals.json"), `${JSON.stringify(result, null, 1)}\n`);
for (const { name, rows, ownOnly, reasons } of result.phases) {
  console.log(name);
  for (const { what, own, smi } of rows) console.log(`  ${what}: ${own}, nvidia-smi ${smi}`);
  console.log(`  ${JSON.stringify(ownOnly)}, nvidia-smi's reasons ${reasons}`);
}
console.log(JSON.stringify({ agent: agent.health, xids, slowdownC: result.slowdownC }));

/** Medians of both over so many seconds. */
async function measure(name: string, seconds: number) {
  const fields = [...Object.values(queried).flat(), REASONS];
  const query = `--query-gpu=${fields.join(",")}`;
  const args = ["-i", uuid, query, "--format=csv,noheader,nounits", "-lms", String(SMI_EVERY_MS)];
  const other = start("nvidia-smi", args);
  const lines: string[] = [];
  other.stdout?.on("data", (text) => lines.push(...String(text).trim().split("\n")));
  const looks: (typeof first & { readonly pressure: unknown })[] = [];
  for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
    const vitals = sensor.vitals().find((one) => one.uuid === uuid);
    if (vitals) looks.push({ ...vitals, pressure: pressure() });
    await pause(OWN_EVERY_MS);
  }
  other.kill();
  const cells = lines.map((line) => line.split(",").map((cell) => cell.trim()));
  const column = (field: string) => cells.map((row) => Number(row[fields.indexOf(field)]));
  const ofSmi = (what: Compared) => {
    const [value = "", whole] = queried[what];
    const values = median(column(value));
    if (whole !== undefined) return values / median(column(whole));
    return what === "utilisation" ? values / 100 : values;
  };
  const of = (what: Compared | "smActivity") =>
    median(looks.flatMap((look) => (look[what] === undefined ? [] : [Number(look[what])])));
  return {
    name,
    looks: { own: looks.length, smi: cells.length },
    rows: compared.map((what) => ({ what, own: of(what), smi: ofSmi(what) })),
    ownOnly: {
      smActivity: of("smActivity"),
      throttle: [...new Set(looks.map(({ throttle }) => throttle))],
      clocksSet: [...new Set(looks.map(({ clocksSet }) => clocksSet))],
      rowsPending: looks.at(-1)?.rowsPending,
      unusable: looks.at(-1)?.unusable,
      pressure: looks.at(-1)?.pressure,
    },
    reasons: [...new Set(cells.map((row) => row.at(-1)))],
  };
}

/** The kernel's own lines. */
function pressure() {
  const [memory, cpu] = ["memory", "cpu"].map((what) => {
    try {
      return readFileSync(`/proc/pressure/${what}`, "utf8").split("\n", 2).join(" | ");
    } catch {
      return undefined;
    }
  });
  return { memory, cpu };
}

/** An agent of its own judges the GPU while best-effort work runs. */
async function underAgent() {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-vitals-`);
  const env = { ...process.env, COTENANT_DIR: directory, COTENANT_CONFIG: "" };
  const run = (...args: string[]) =>
    spawnSync(node, [...command, ...args], { env, encoding: "utf8" });
  try {
    const up = run("up", "--mode", "isolated");
    if (up.status !== 0) return { error: up.stderr };
    const args = ["run", "--class", "best-effort", "--", "bin/cotenant", "load"];
    const job = start(node, [...command, ...args, "--arrivals", "closed", "--seconds", "6"], env);
    await pause(5000);
    const { gpus } = JSON.parse(run("status", "--json").stdout);
    await ended(job);
    const events = run("events", "--json").stdout.trim().split("\n");
    const told = events.filter((line) => /"event":"(health|xid)"/.test(line));
    run("down");
    const [gpu] = gpus.filter((one: { uuid: string }) => one.uuid === uuid);
    return { health: gpu?.health, reading: gpu?.reading, events: told };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The library's report of an error that a program causes; null: this user, or this container, gets none. */
async function illegalAddress() {
  sensor.vitals();
  const { status, stdout, stderr } = spawnSync("python3", ["-c", storesToNowhere(uuid)], {
    encoding: "utf8",
  });
  await pause(1000);
  const heard = sensor.vitals().find((one) => one.uuid === uuid)?.xids ?? null;
  return { heard, program: { status, said: (stdout + stderr).trim() } };
}

function storesToNowhere(gpu: string): string {
  const ptx = `.version 7.0
.target sm_75
.address_size 64
.visible .entry store() { .reg .b64 %a; .reg .b32 %b; mov.u64 %a, 16; mov.u32 %b, 1; st.global.u32 [%a], %b; ret; }`;
  return `
import ctypes, os
os.environ["CUDA_VISIBLE_DEVICES"] = "${gpu}"
cuda = ctypes.CDLL("libcuda.so.1")
context, module, function = (ctypes.c_void_p() for _ in range(3))
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
print("load", cuda.cuModuleLoadData(ctypes.byref(module), b"""${ptx}"""))
cuda.cuModuleGetFunction(ctypes.byref(function), module, b"store")
cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
print("synchronise", cuda.cuCtxSynchronize())
`;
}

function start(program: string, args: readonly string[], env = process.env): ChildProcess {
  return spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
}

async function ended(child: ChildProcess): Promise<void> {
  child.stdout?.resume();
  if (child.exitCode === null) await new Promise((resolve) => child.once("exit", resolve));
}

function smi(...args: string[]): string {
  const { stdout, stderr } = spawnSync("nvidia-smi", args, { encoding: "utf8" });
  return stdout || stderr;
}
