// Instructions of one gate decision and of what the interposer adds to one launch, counted by callgrind:
// the same on every machine with the same compiler, whatever else runs. A launch is counted with the
// interposer preloaded and without; the difference is the interposer's (and the driver calls it makes
// are counted at a few instructions each, because bench/cost/driver.cpp does nothing).
import { execFile, spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";

const build = resolve("build/native");
export const interposer = `${build}/libcotenant.so`;

const gate = (name: string) =>
  ({ program: ["gate"], functions: [name], per: "decisions" }) as const;
const launch = (kind: string, per: "groups" | "others", ...functions: string[]) =>
  ({ program: ["launch", kind], functions, per }) as const;

/** The measured functions of gate.cpp or launch.cpp, and the name of their count in the program's output. */
const parts = {
  "gate decision": gate("whole_decision"),
  "- reading the rules": gate("just_read_rules"),
  "- release": gate("just_release"),
  "- admit": gate("just_admit"),
  "- closes": gate("just_closes"),
  "high launch in a burst": launch("high", "others", "next_launch"),
  "- with words in its queue": launch("crowded", "others", "next_launch"),
  "high burst, first launch and wait": launch("high", "groups", "first_launch", "synchronise"),
  "best-effort launch in a chunk": launch("best-effort", "others", "next_launch"),
  "best-effort launch with a border": launch("best-effort", "groups", "first_launch"),
  "best-effort launch, no high client": launch("ungated", "others", "next_launch"),
};

export type Part = keyof typeof parts;

export const hasValgrind = (): boolean => !spawnSync("valgrind", ["--version"]).error;

/** The environment in which launch.cpp finds its driver; nothing of the caller's own. */
export const clientEnvironment = (preload: boolean): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  LD_LIBRARY_PATH: `${build}/bench/driver`,
  ...(preload && { LD_PRELOAD: interposer }),
});

/** Instructions each: over a set of inputs (gate.cpp), or 64 launches of each of 48 kernels (launch.cpp). */
export async function countInstructions(): Promise<Record<Part, number>> {
  const counts: [string, number][] = [];
  for (const [name, part] of Object.entries(parts)) {
    const preloadable = part.program[0] === "launch";
    // Two cores: the pair runs side by side.
    const [counted, without] = await Promise.all([
      callgrind(part, preloadable),
      preloadable ? callgrind(part, false) : 0,
    ]);
    counts.push([name, Number((counted - without).toFixed(1))]);
  }
  // The keys are those of `parts`.
  return Object.fromEntries(counts) as Record<Part, number>;
}

async function callgrind(part: (typeof parts)[Part], preload: boolean): Promise<number> {
  const [program, ...args] = part.program;
  const { stdout, stderr } = await promisify(execFile)(
    "valgrind",
    [
      ...["--tool=callgrind", "--callgrind-out-file=/dev/null"],
      ...part.functions.map((name) => `--toggle-collect=${name}`),
      ...[`${build}/bench/${program}`, ...args],
    ],
    { env: clientEnvironment(preload) },
  );
  const collected = Number(/Collected : (\d+)/.exec(stderr)?.[1]);
  // Both programs print counts by name.
  const times = (JSON.parse(stdout) as Record<string, number>)[part.per];
  if (!collected || !times) throw new Error(`nothing was counted: ${stdout}\n${stderr}`);
  return collected / times;
}
