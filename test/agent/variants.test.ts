// The agent goes on whatever a client gives it to make variants of: whole processes that make them, on real requests.
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import {
  admitAll,
  openListener,
  Registry,
  type VariantLimits,
  VariantQueue,
  variantLimits,
} from "#agent";
import { systemClock } from "#core";
import { VariantRequest, view, welcomeStatus } from "#protocol";
import { attach, eventually, temporaryDirectory } from "./fakes.ts";

const cotenant = fileURLToPath(new URL("../../bin/cotenant", import.meta.url));

const HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n";
const SHORT = `${HEAD}.visible .entry k(.param .u64 a) { ret; }\n`;

/** Its syntax tree alone takes over 100 MiB. */
const LARGE = [
  `${HEAD}.visible .entry k(.param .u64 a)\n{\n.reg .b32 %r<78002>;\n`,
  ...Array.from({ length: 78_000 }, (_, i) => `L${i}: add.s32 %r${i + 1}, %r${i}, 1;\n`),
  "ret;\n}\n",
].join("");

function request(ptx: string): string {
  const name = new TextEncoder().encode("k");
  const image = new TextEncoder().encode(ptx);
  const bytes = new Uint8Array(VariantRequest.size + name.length + image.length);
  const head = view(VariantRequest, bytes.buffer);
  head.nameBytes = name.length;
  head.imageBytes = image.length;
  bytes.set(name, VariantRequest.size);
  bytes.set(image, VariantRequest.size + name.length);
  const path = `${temporaryDirectory()}/request`;
  writeFileSync(path, bytes);
  return path;
}

/** Two at once by default, as the agent has it, and time without end. */
function queue(limits: Partial<VariantLimits> = {}) {
  const made = new VariantQueue({
    program: {
      command: process.execPath,
      args: [cotenant, "make-variants", `${temporaryDirectory()}/variants`],
    },
    clock: systemClock,
    log: () => {},
    limits: { ...variantLimits, seconds: 600, waitSeconds: 600, ...limits },
  });
  onTestFinished(() => made.close());
  return made;
}

const reasonOf = async ({ answer }: ReturnType<VariantQueue["ask"]>) => (await answer).reply.reason;

/** Processes that make variants for this one. */
const makers = () =>
  readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      try {
        const [, , parent] = readFileSync(`/proc/${pid}/stat`, "utf8")
          .replace(/^.*\)/s, "")
          .split(" ");
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        return parent === String(process.pid) && words.includes("make-variants");
      } catch {
        return false; // gone, or no process
      }
    });

/** A request of client 1 that is in work and never ends: its process is stopped. */
async function stuck(variants: VariantQueue) {
  await variants.ask(request(SHORT), 1).answer;
  for (const pid of makers()) process.kill(pid, "SIGSTOP");
  return variants.ask(request(SHORT), 1);
}

test("variants come as a file of this process, which is closed when its client has them", async () => {
  const { reply, done } = await queue().ask(request(SHORT), 1).answer;
  expect(reply).toMatchObject({ status: welcomeStatus.ok, reason: "" });
  const path = `/proc/self/fd/${reply.files[0]}`;
  expect(readFileSync(path, "utf8")).toContain("k__cotenant_preempt");
  done();
  expect(() => readFileSync(path)).toThrow();
});

test("a client whose requests take long does not keep another waiting, and has no more of them than allowed", async () => {
  const variants = queue();
  const long = [await stuck(variants)];
  for (let i = 0; i < 4; i++) long.push(variants.ask(request(SHORT), 1));
  let ended = 0;
  for (const { answer } of long) void answer.then(() => ended++);
  for (let i = 0; i < 3; i++) expect(await reasonOf(variants.ask(request(SHORT), 2))).toBe("");
  expect(await reasonOf(variants.ask(request(SHORT), 1))).toBe(
    "Process 1 has 4 requests for variants waiting: that is the limit.",
  );
  expect(ended).toBe(0);
});

test("clients take turns", async () => {
  const variants = queue({ processes: 1 });
  const order: number[] = [];
  const all = [1, 1, 1, 2, 2, 3].map(async (client) => {
    await variants.ask(request(SHORT), client).answer;
    order.push(client);
  });
  await Promise.all(all);
  expect(order).toEqual([1, 2, 3, 1, 2, 1]);
});

test("a client that hangs up leaves the queue", async () => {
  const variants = queue({ waitingPerClient: 1 });
  await stuck(variants);
  const second = variants.ask(request(SHORT), 1);
  expect(await reasonOf(variants.ask(request(SHORT), 1))).toContain("that is the limit");
  second.giveUp();
  expect(await reasonOf(second)).toBe("The client hung up.");
  const third = variants.ask(request(SHORT), 1);
  await variants.close();
  expect(await reasonOf(third)).toBe("The agent stops.");
});

test("a request that takes longer than allowed is refused with the limit", async () => {
  const variants = queue({ seconds: 1 });
  expect(await reasonOf(await stuck(variants))).toBe(
    "Making the variants took longer than 1 s: that is the limit.",
  );
});

test("a request that takes more memory than allowed is refused with the limit, and the next is made", async () => {
  const variants = queue({ mebibytes: 48 });
  expect(await reasonOf(variants.ask(request(LARGE), 1))).toBe(
    "Making the variants took more than 48 MiB: that is the limit.",
  );
  expect(await reasonOf(variants.ask(request(SHORT), 1))).toBe("");
});

test("a request that took more than allowed is not tried again, by whatever process, and others are", async () => {
  const variants = queue({ mebibytes: 48 });
  const path = request(LARGE);
  expect(await reasonOf(variants.ask(path, 1))).toContain("48 MiB: that is the limit.");
  for (const client of [1, 2])
    expect(await reasonOf(variants.ask(path, client))).toBe(
      "Making the variants took more than 48 MiB: that is the limit, and it is not tried again while this agent runs.",
    );
  const [same, ...others] = makers();
  expect(others).toEqual([]);
  expect(await reasonOf(variants.ask(request(LARGE.replace("1;", "2;")), 1))).toBe(
    "Making the variants took more than 48 MiB: that is the limit.",
  );
  expect(await reasonOf(variants.ask(path, 1))).toContain("not tried again");
  expect(makers()).not.toContain(same);
});

test("a request that finds no process free in time is refused", async () => {
  const variants = queue({ processes: 1, waitSeconds: 1 });
  await stuck(variants);
  expect(await reasonOf(variants.ask(request(SHORT), 2))).toBe(
    "Other requests for variants took longer than 1 s.",
  );
});

test("when the process that makes variants is killed, its request is refused and the next is made", async () => {
  const variants = queue();
  const asked = await stuck(variants);
  for (const pid of makers()) process.kill(pid, "SIGKILL");
  expect(await reasonOf(asked)).toBe("The process that makes variants is gone: ended by SIGKILL.");
  expect(await reasonOf(variants.ask(request(SHORT), 1))).toBe("");
});

test("a program that can't be started is a refusal that says why", async () => {
  const variants = new VariantQueue({
    program: { command: "/nowhere/node", args: [] },
    clock: systemClock,
    log: () => {},
  });
  expect(await reasonOf(variants.ask(request(SHORT), 1))).toBe(
    "The process that makes variants is gone: no such file or directory.",
  );
  await variants.close();
});

test("a process without work ends, but for the one that is kept", async () => {
  const variants = queue({ idleSeconds: 0.1 });
  await variants.ask(request(SHORT), 1).answer;
  await eventually(() => makers().length === 0);
  variants.keepOne(true);
  await eventually(() => makers().length === 1);
  const [kept] = makers();
  await variants.ask(request(SHORT), 1).answer;
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(makers()).toEqual([kept]);
});

test("nothing that a client gives as its request keeps others from attaching", async () => {
  const folder = temporaryDirectory();
  const registry = new Registry({
    agentPid: process.pid,
    now: () => systemClock.now(),
    log: () => {},
    prepare: () => {},
    knows: () => true,
    admission: admitAll,
  });
  const path = `${folder}/agent.sock`;
  const variants = queue();
  const door = await openListener(path, registry, systemClock, () => {}, { variants });
  onTestFinished(() => door.close());
  execFileSync("mkfifo", [`${folder}/pipe`]); // nobody will ever write to it
  const pipe = openSync(`${folder}/pipe`, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(pipe));
  const ask = (passed: number) =>
    attach(path, { kind: "variant", class: "best-effort", passed: [passed] });
  const { welcome } = await ask(pipe);
  expect(welcome).toMatchObject({
    status: welcomeStatus.refused,
    reason: "The request can't be met: its descriptor is no file.",
  });
  for (const pid of makers()) process.kill(pid, "SIGSTOP");
  let answered = false;
  const settled = () => {
    answered = true;
  };
  void ask(pipe).then(settled, settled);
  for (let i = 0; i < 5; i++) expect((await attach(path)).welcome.status).toBe(welcomeStatus.ok);
  expect(answered).toBe(false);
});
