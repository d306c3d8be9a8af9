// `cotenant run` changes nothing of the program that it starts, whatever started it, but listed variables.
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { launcher, type Machine, startMachine, temporaryDirectory } from "../machine.ts";
import { lost, transparent, untested, type Way } from "./ways.ts";

console.error(`NOT TESTABLE HERE: ${untested}.`);

/** Prints the facts by which a program may notice how it was started, one a line. The shell reads what a fork of it would change, itself. */
const facts = `p=/proc/$$
while IFS= read -r line; do
  case $line in Umask*|[UG]id*|Groups*|Sig[BICP]*|ShdPnd*|Cap*|NoNewPrivs*|Seccomp*|Cpus_allowed*|Mems_*) echo "$line" ;; esac
done < $p/status
open=
for fd in 0 1 2 3 4 5 6 7 8 9 11 12 13 14 15 16 17 18 19 20 21 22; do
  if [ -e $p/fd/$fd ]; then open="$open $fd"; fi
done
for fd in $open; do echo "fd $fd $(readlink $p/fd/$fd | sed 's/[0-9]*]$/]/')"; done
cat $p/limits $p/cgroup $p/oom_score_adj $p/timerslack_ns $p/personality
sed 's/.*)//' $p/stat | cut -d ' ' -f 17,18,39,40
readlink $p/cwd $p/root $p/ns/*
tr '\\0' '\\n' < $p/environ
printf '%s\\n' "$@"
`;

/** Variables that "run" sets, those of a shell about its last command, and numbers of processes and sockets. */
const EXPECTED = /^(COTENANT_|LD_PRELOAD=|LD_LIBRARY_PATH=|TRITON_PTXAS_|CUDA_MPS_|_=|TMUX)/;
const comparable = (stdout: string, folder: string) =>
  stdout
    .replaceAll(folder, "FOLDER")
    .replace(/^LISTEN_PID=\d+$/m, "LISTEN_PID=")
    .replace(/\/dev\/pts\/\d+/g, "/dev/pts/")
    .split(/\r?\n/)
    .filter((line) => !EXPECTED.test(line))
    .toSorted();

const has = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

async function found(machine: Machine, way: Way, run: readonly string[]) {
  const folder = temporaryDirectory();
  const file = `${machine.directory}/facts.sh`;
  writeFileSync(file, facts);
  const words = way.around([...run, "/bin/sh", file, "one", "two words", "", "$x'\""], folder);
  const { status, stdout, stderr } = await machine.elsewhere(words).ended;
  expect({ status, stderr: stderr.replace(/^cotenant: no CUDA context.*\n/gm, "") }).toMatchObject({
    status: 0,
  });
  return comparable(stdout, folder);
}

describe("a program finds the same as natively when it is started by", () => {
  for (const way of transparent) {
    const missing = (way.needs ?? []).filter((program) => !has(program));
    if (missing.length > 0) console.error(`SKIPPED: ${way.name}, because ${missing} is missing.`);
    test.skipIf(missing.length > 0)(way.name, async () => {
      const machine = await startMachine();
      const natively = await found(machine, way, []);
      expect(natively.length).toBeGreaterThan(40);
      expect(await found(machine, way, [launcher, "run", "--class", "high", "--"])).toEqual(
        natively,
      );
    });
  }
});

/** Programs of these names, of which only two are ever read. */
function programs(): string {
  const folder = temporaryDirectory();
  mkdirSync(`${folder}/bin`);
  for (const name of ["sudo", "su", "docker", "podman", "kubectl"])
    writeFileSync(`${folder}/bin/${name}`, "#!/bin/sh\n");
  copyFileSync("build/native/cotenant-ptxas", `${folder}/bin/static`);
  // A program of the dynamic loader that names the sanitizer's library.
  copyFileSync("/bin/true", `${folder}/bin/sanitized`);
  spawnSync("sh", ["-c", 'printf "libasan.so.8" >> "$0"', `${folder}/bin/sanitized`]);
  for (const name of ["sudo", "su", "docker", "podman", "kubectl", "static", "sanitized"])
    chmodSync(`${folder}/bin/${name}`, 0o755);
  return `${folder}/bin`;
}

test.each(lost)("$words starts, and a sentence says what to do", async ({ words, says }) => {
  const machine = await startMachine();
  const PATH = `${programs()}:${process.env.PATH}`;
  const run = [launcher, "run", "--class", "high", "--", ...words];
  const beside = await machine.elsewhere(run, { PATH }).ended;
  expect(beside.stderr).toContain(`cotenant: ${says}\n`);
  const off = await machine.elsewhere(run, { PATH, COTENANT_OFF: "1" }).ended;
  expect(off.stderr).not.toContain(says);
  await machine.cotenant(["down"]);
  const alone = await machine.elsewhere(run, { PATH }).ended;
  expect(alone.stderr).toContain(`cotenant: ${says}\n`);
});

test("what has nothing to do with containers is started by docker without a word", async () => {
  const machine = await startMachine();
  const PATH = `${programs()}:${process.env.PATH}`;
  const run = [launcher, "run", "--class", "high", "--", "docker", "version"];
  expect((await machine.elsewhere(run, { PATH }).ended).stderr).not.toContain("containers");
});
