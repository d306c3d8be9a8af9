// What stands in for ptxas in best-effort programs (native/ptxas), with an agent and a ptxas that only copies.
import { execFile } from "node:child_process";
import { chmodSync, closeSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { welcomeStatus } from "#protocol";
import type { FormMaker } from "../../src/agent/form-queue.ts";
import { noForms } from "../../src/agent/forms.ts";
import { Registry } from "../../src/agent/registry.ts";
import { openDoor } from "../../src/agent/socket.ts";
import { makeForms } from "../../src/agent/variants.ts";
import { HandClock, temporaryDirectory } from "../agent/fakes.ts";

const standIn = resolve("bin/cotenant-ptxas");

/** Copies its input to what -o names; refuses text with REFUSED in the environment's words in it. */
const PTXAS = `#!/bin/sh
[ "$1" = --version ] && { echo "ptxas of the test"; exit 0; }
for one; do
  [ "$before" = -o ] && out=$one
  case $one in *.ptx) in=$one ;; esac
  before=$one
done
[ -n "$REFUSED" ] && grep -q "$REFUSED" "$in" && { echo "refused" >&2; exit 3; }
cp "$in" "$out"
`;

const KERNEL = `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) { ret; }
`;

interface Setting {
  readonly socket?: string;
  readonly refused?: string;
  readonly words?: readonly string[];
}

async function run(folder: string, { socket, refused, words }: Setting) {
  const ptxas = join(folder, "real-ptxas");
  writeFileSync(ptxas, PTXAS);
  chmodSync(ptxas, 0o755);
  writeFileSync(join(folder, "k.ptx"), KERNEL);
  const given = words ?? [
    "-v",
    "--gpu-name=sm_90",
    join(folder, "k.ptx"),
    "-o",
    join(folder, "k.o"),
  ];
  const { stdout } = await promisify(execFile)(standIn, [...given], {
    env: {
      PATH: process.env.PATH,
      TMPDIR: folder,
      COTENANT_PTXAS: ptxas,
      ...(socket === undefined ? {} : { COTENANT_SOCKET: socket }),
      ...(refused === undefined ? {} : { REFUSED: refused }),
    },
  });
  return stdout;
}

const made = (folder: string) => readFileSync(join(folder, "k.o"), "utf8");

/** Makes forms in this process, at once: what starts a process could be late on a busy machine. */
const formsHere: FormMaker = {
  ask(path) {
    const made = makeForms(path, noForms);
    if ("reason" in made) throw new Error(made.reason);
    const { fd, wholeWarps } = made;
    const reply = { status: welcomeStatus.ok, slot: wholeWarps ? 1 : 0, regionFd: fd, reason: "" };
    return { answer: Promise.resolve({ reply, done: () => closeSync(fd) }), giveUp() {} };
  },
};

async function agentIn(folder: string): Promise<string> {
  const socket = join(folder, "agent.sock");
  const clock = new HandClock();
  const registry = new Registry({
    agentPid: process.pid,
    now: () => clock.now(),
    log: () => {},
    prepare: () => {},
    knows: () => undefined,
  });
  const door = await openDoor(socket, registry, clock, () => {}, formsHere);
  onTestFinished(() => door.close());
  return socket;
}

test("the real ptxas gets the kernel and its forms that can stop inside", async () => {
  const folder = temporaryDirectory();
  await run(folder, { socket: await agentIn(folder) });
  expect(
    made(folder)
      .match(/\.entry (\w+)/g)
      ?.sort(),
  ).toEqual([".entry k", ".entry k__cotenant_preempt", ".entry k__cotenant_slice"]);
});

describe("the real ptxas gets what the caller has written", () => {
  test("without an agent", async () => {
    const folder = temporaryDirectory();
    await run(folder, {});
    expect(made(folder)).toBe(KERNEL);
    await run(folder, { socket: join(folder, "nobody.sock") });
    expect(made(folder)).toBe(KERNEL);
  });

  test("when the agent does not answer", async () => {
    const folder = temporaryDirectory();
    const socket = join(folder, "silent.sock");
    const server = createServer().listen(socket);
    onTestFinished(() => void server.close());
    await run(folder, { socket });
    expect(made(folder)).toBe(KERNEL);
  });

  test("when it does not take the form", async () => {
    const folder = temporaryDirectory();
    await run(folder, { socket: await agentIn(folder), refused: "__cotenant" });
    expect(made(folder)).toBe(KERNEL);
  });
});

test("what the real ptxas says of a wrong file is what the caller gets", async () => {
  const folder = temporaryDirectory();
  const refused = run(folder, { socket: await agentIn(folder), refused: "entry" });
  await expect(refused).rejects.toMatchObject({
    code: 3,
    stderr: expect.stringMatching("refused"),
  });
});

test("its version is the real one's and says that there are forms", async () => {
  const folder = temporaryDirectory();
  expect(await run(folder, { words: ["--version"] })).toMatch(
    /^ptxas of the test\nCotenant forms [\d.]+\n$/,
  );
});
