// The queue of requests for variants, with processes whose requests say what they do and a clock turned by hand.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { logLine, startTimeOf, type VariantLimits, VariantQueue, variantLimits } from "#agent";
import { ms } from "#core";
import { welcomeStatus } from "#protocol";
import { eventually, HandClock, temporaryDirectory } from "./fakes.ts";

/** Serves requests as src/agent/variants/process.ts does, and notes when it has begun what never ends. */
const server = `
import { appendFileSync, closeSync, openSync } from "node:fs";
const [, , notes] = process.argv;
const told = [];
const tell = (answer) => process.send(answer);
const requests = {
  variant: () => tell({ fd: openSync("/proc/self/comm", "r"), wholeWarps: false }),
  warps: () => tell({ fd: openSync("/proc/self/comm", "r"), wholeWarps: true }),
  nowhere: () => tell({ fd: 1000, wholeWarps: false }),
  refusal: () => tell({ reason: "It has a clock." }),
  pid: () => tell({ reason: String(process.pid) }),
  heap: () => tell({ reason: process.execArgv.join(" ") }),
  told: () => tell({ reason: told.join("; ") }),
  nothing: () => appendFileSync(notes, "nothing\\n"),
  begun: () => process.send({ begun: "its key" }, () => appendFileSync(notes, "begun\\n")),
  exit: () => process.exit(3),
  abort: () => process.abort(),
};
process.on("message", (asked) => {
  if ("path" in asked) return requests[asked.path]();
  told.push("close" in asked ? "close" : asked.refuse + ": " + asked.reason);
  if ("close" in asked) try { closeSync(asked.close); } catch {}
});
if (notes !== "silent") tell("ready");
`;

const seconds = (count: number) => ms(1000 * count);

function queue(limits: Partial<VariantLimits> = {}, silent = false) {
  const clock = new HandClock();
  const log: string[] = [];
  const folder = temporaryDirectory();
  const [program, notes] = [`${folder}/server.mjs`, `${folder}/notes`];
  writeFileSync(program, server);
  const variants = new VariantQueue({
    program: { command: process.execPath, args: [program, silent ? "silent" : notes] },
    clock,
    log: (event, facts) => log.push(logLine(event, facts)),
    limits: { ...variantLimits, ...limits },
  });
  onTestFinished(() => variants.close());
  const reasonFor = async (path: string, client = 1) =>
    (await variants.ask(path, client).answer).reply.reason;
  const noted = () => (existsSync(notes) ? readFileSync(notes, "utf8") : "");
  /** A request that is in work and never ends. */
  const stuck = async (client: number, path: "nothing" | "begun" = "nothing") => {
    const before = noted();
    const { answer, giveUp } = variants.ask(path, client);
    await eventually(() => noted() !== before);
    await new Promise((resolve) => setTimeout(resolve, 1)); // what it said before its note has come
    return { reason: answer.then(({ reply }) => reply.reason), giveUp };
  };
  const running = () => readdirSync("/proc").filter((pid) => wordsOf(pid).includes(program));
  return { variants, clock, log, reasonFor, stuck, running };
}

/** Words of a process's command line. */
function wordsOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return []; // gone, or no process
  }
}

const isGone = (pid: string) => startTimeOf(Number(pid)) === undefined;

test("a variant comes as a file of this process, and its maker closes its own", async () => {
  const { variants, reasonFor } = queue();
  const { reply, done } = await variants.ask("variant", 1).answer;
  expect(reply).toMatchObject({ status: welcomeStatus.ok, slot: 0, reason: "" });
  const path = `/proc/self/fd/${reply.files[0]}`;
  expect(readFileSync(path, "utf8")).not.toBe("");
  done();
  expect(() => readFileSync(path)).toThrow();
  expect(await reasonFor("told")).toBe("close");
});

test("that a variant is right for whole warps only is in the reply", async () => {
  const { variants } = queue();
  const { reply, done } = await variants.ask("warps", 1).answer;
  expect(reply).toMatchObject({ status: welcomeStatus.ok, slot: 1 });
  done();
});

test("a refusal has its maker's reason, and a variant that can't be handed over has one too", async () => {
  const { variants, reasonFor, log } = queue();
  const { reply } = await variants.ask("refusal", 1).answer;
  expect(reply).toMatchObject({ status: welcomeStatus.refused, reason: "It has a clock." });
  expect(await reasonFor("nowhere")).toBe(
    "The variants can't be handed over: no such file or directory.",
  );
  expect(await reasonFor("told")).toBe("close");
  expect(log).toEqual([]);
});

test("a process may have only so much heap", async () => {
  expect(await queue({ mebibytes: 123 }).reasonFor("heap")).toBe("--max-old-space-size=123");
});

test("a request may take so long, then its process is ended and the next one is met by another", async () => {
  const { stuck, clock, reasonFor, log } = queue({ processes: 1 });
  const pid = await reasonFor("pid");
  const long = await stuck(1);
  clock.advance(seconds(9.9));
  expect(isGone(pid)).toBe(false);
  clock.advance(seconds(0.1));
  expect(await long.reason).toBe("Making the variants took longer than 10 s: that is the limit.");
  expect(log).toEqual([
    'no variants because="Making the variants took longer than 10 s: that is the limit."',
  ]);
  expect(await reasonFor("pid")).not.toBe(pid);
  expect(isGone(pid)).toBe(true);
  expect(await reasonFor("told")).toBe(""); // what it would have made is not known
});

test("a request that was met in time leaves no limit behind for the next one", async () => {
  const { clock, reasonFor, stuck } = queue({ processes: 1, idleSeconds: 100 });
  const pid = await reasonFor("pid");
  clock.advance(seconds(9));
  const long = await stuck(1);
  clock.advance(seconds(9));
  expect(isGone(pid)).toBe(false);
  clock.advance(seconds(1));
  expect(await long.reason).toContain("longer than 10 s");
});

test("every process, the living and the next, is told of what took longer than allowed", async () => {
  const { stuck, clock, reasonFor } = queue();
  const long = await stuck(1, "begun");
  const other = await reasonFor("pid", 2);
  clock.advance(seconds(10));
  await long.reason;
  const told =
    "its key: Making the variants took longer than 10 s: that is the limit, and it is not tried again while this agent runs";
  expect(await reasonFor("told", 2)).toBe(told);
  expect(await reasonFor("pid", 2)).toBe(other);
  await stuck(2);
  expect(await reasonFor("told")).toBe(told);
});

test("a process that ends in its work is said to be gone, and how", async () => {
  const { reasonFor, log, stuck } = queue();
  expect(await reasonFor("exit")).toBe(
    "The process that makes variants is gone: ended with status 3.",
  );
  const pid = await reasonFor("pid");
  const asked = await stuck(1);
  process.kill(Number(pid), "SIGTERM");
  expect(await asked.reason).toBe("The process that makes variants is gone: ended by SIGTERM.");
  expect(log).toHaveLength(2);
  expect(await reasonFor("told")).toBe("");
});

test("one that aborts has taken more memory than allowed", async () => {
  expect(await queue().reasonFor("abort")).toBe(
    "Making the variants took more than 768 MiB: that is the limit.",
  );
});

test("a request that finds no process free in time is refused", async () => {
  const { variants, stuck, clock, reasonFor } = queue({ processes: 1, seconds: 100 });
  await stuck(1);
  const late = reasonFor("pid", 2);
  clock.advance(seconds(44.9));
  const later = variants.ask("pid", 3);
  clock.advance(seconds(0.1));
  expect(await late).toBe("Other requests for variants took longer than 45 s.");
  later.giveUp();
  expect((await later.answer).reply.reason).toBe("The client hung up.");
});

test("so many requests wait at most, of one client and of all", async () => {
  const { variants, stuck, reasonFor } = queue({ processes: 1, waiting: 3, waitingPerClient: 2 });
  await stuck(1);
  for (const client of [1, 1, 2]) void variants.ask("pid", client);
  expect(await reasonFor("pid", 1)).toBe(
    "Process 1 has 2 requests for variants waiting: that is the limit.",
  );
  expect(await reasonFor("pid", 3)).toBe("3 requests for variants are waiting: that is the limit.");
});

test("a client has one request in work at a time, and there are no more processes than allowed", async () => {
  const { variants, stuck, reasonFor } = queue({ processes: 2 });
  await stuck(1);
  const waiting = variants.ask("pid", 1);
  const free = await reasonFor("pid", 2);
  expect(await reasonFor("pid", 3)).toBe(free);
  let answered = false;
  void waiting.answer.then(() => {
    answered = true;
  });
  await stuck(2);
  const third = variants.ask("pid", 3);
  expect(answered).toBe(false);
  await variants.close();
  for (const one of [waiting, third])
    expect((await one.answer).reply.reason).toBe("The agent stops.");
});

test("when the agent stops, whoever has asked is refused, and so is who asks later", async () => {
  const { variants, stuck, reasonFor, log } = queue({ processes: 1 });
  const pid = await reasonFor("pid");
  const inWork = await stuck(1);
  const waiting = reasonFor("pid", 2);
  await variants.close();
  expect(isGone(pid)).toBe(true);
  expect([await inWork.reason, await waiting, await reasonFor("pid", 3)]).toEqual(
    Array.from({ length: 3 }, () => "The agent stops."),
  );
  expect(log).toEqual([]);
});

test("who hangs up while its request is in work gets its answer all the same", async () => {
  const { variants, reasonFor } = queue();
  await reasonFor("pid");
  const asked = variants.ask("refusal", 1);
  asked.giveUp();
  expect((await asked.answer).reply.reason).toBe("It has a clock.");
});

test("a process that has nothing to do ends after a while, but for one where one is kept", async () => {
  const { variants, clock, reasonFor, log } = queue();
  const pid = await reasonFor("pid");
  clock.advance(seconds(29.9));
  expect(await reasonFor("pid")).toBe(pid);
  clock.advance(seconds(29.9));
  expect(isGone(pid)).toBe(false);
  clock.advance(seconds(0.1));
  await eventually(() => isGone(pid));
  variants.keepOne(true);
  const kept = await reasonFor("pid");
  clock.advance(seconds(100));
  expect(await reasonFor("pid")).toBe(kept);
  variants.keepOne(false);
  clock.advance(seconds(30));
  await eventually(() => isGone(kept));
  expect(log).toEqual([]);
});

test("the process that is kept is started again where it was killed", async () => {
  const { variants, clock, reasonFor, running } = queue();
  variants.keepOne(true);
  const first = await reasonFor("pid");
  expect(running()).toEqual([first]);
  process.kill(Number(first), "SIGKILL");
  await eventually(() => running().some((pid) => pid !== first));
  const [second] = running();
  clock.advance(seconds(50));
  expect(await reasonFor("pid")).toBe(second);
});

test("a program that does not get ready is ended, and all who wait are refused", async () => {
  const { clock, reasonFor, log } = queue({ waitSeconds: 100 }, true);
  const asked = [reasonFor("pid", 1), reasonFor("pid", 2)];
  clock.advance(seconds(60));
  for (const reason of asked)
    expect(await reason).toBe("The process that makes variants does not start.");
  expect(log).toEqual(['no variants because="The process that makes variants does not start."']);
});

test("a program that is not there is a refusal that says so", async () => {
  const variants = new VariantQueue({
    program: { command: "/nowhere/node", args: [] },
    clock: new HandClock(),
    log: () => {},
  });
  onTestFinished(() => variants.close());
  expect((await variants.ask("pid", 1).answer).reply.reason).toBe(
    "The process that makes variants is gone: no such file or directory.",
  );
});
