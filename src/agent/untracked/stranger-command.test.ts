import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import type { Log } from "../log/log.ts";
import { strangerReporter } from "./stranger-command.ts";

function told(command: string) {
  const folder = mkdtempSync(`${tmpdir()}/cotenant-stranger-`);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const logged: Parameters<Log>[] = [];
  const log: Log = (...line) => void logged.push(line);
  const tell = strangerReporter(command, { PATH: process.env.PATH, FOLDER: folder }, log);
  const stranger = (pid: number) =>
    tell({
      pid,
      name: "a job",
      memory: 5,
      agentPid: undefined,
      because: undefined,
      launch: undefined,
      command: undefined,
      gpu: "GPU-00",
      identity: {
        ...{ pid, uid: 1000, gid: 1000, groups: [], cgroup: "/", onHost: false },
        ...{ container: "c".repeat(64), pod: "6f1ed7d2", unit: undefined, slurmJob: undefined },
      },
    });
  return { folder, logged, stranger };
}

test("an untracked process is logged with its identity, and with `warn` no command runs", () => {
  const { logged, stranger } = told("warn");
  stranger(5);
  const of = "uid 1000, container cccccccccccc, pod 6f1ed7d2";
  const because = "it holds no slot, so it is not gated";
  expect(logged).toEqual([["stranger", { pid: 5, name: "a job", gpu: "GPU-00", of, because }]]);
});

test("a command gets the untracked process in its environment", async () => {
  const { folder, stranger } = told(
    "env | grep ^COTENANT_STRANGER_ | sort > $FOLDER/it; mv $FOLDER/it $FOLDER/said",
  );
  stranger(5);
  await expect.poll(() => existsSync(`${folder}/said`), { timeout: 60_000 }).toBe(true);
  expect(readFileSync(`${folder}/said`, "utf8")).toBe(
    `COTENANT_STRANGER_CONTAINER=${"c".repeat(64)}
COTENANT_STRANGER_GPU=GPU-00
COTENANT_STRANGER_PID=5
COTENANT_STRANGER_POD=6f1ed7d2
COTENANT_STRANGER_UID=1000
`,
  );
});

test("a command that fails is logged with the end of its output", async () => {
  const { logged, stranger } = told("echo no such thing >&2; exit 3");
  stranger(5);
  await expect
    .poll(() => logged[1], { timeout: 60_000 })
    .toEqual([
      "stranger command failed",
      { pid: 5, gpu: "GPU-00", because: "it ended with 3: no such thing" },
    ]);
});

test("of many long commands, eight run at a time and the others follow", async () => {
  const { folder, stranger } = told(
    "touch $FOLDER/$COTENANT_STRANGER_PID; while ! [ -e $FOLDER/go ]; do sleep 0.05; done",
  );
  const begun = () =>
    Array.from({ length: 20 }, (_, pid) => existsSync(`${folder}/${pid}`)).filter(Boolean).length;
  for (let pid = 0; pid < 20; pid++) stranger(pid);
  await expect.poll(begun, { timeout: 60_000 }).toBe(8);
  writeFileSync(`${folder}/go`, "");
  await expect.poll(begun, { timeout: 60_000 }).toBe(20);
});
