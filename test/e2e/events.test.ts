// Events that an operator reads afterwards: every change, from the log of a real agent with real clients.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { pathsIn } from "#agent";
import { cotenantItself, emptyMachine, eventually, type Machine, startMachine } from "./machine.ts";

interface Event {
  readonly time: string;
  readonly event: string;
  readonly [fact: string]: string | number;
}

async function eventsOf(machine: Machine, ...args: string[]): Promise<readonly Event[]> {
  const { status, stdout, stderr } = await machine.cotenant(["events", "--json", ...args]);
  if (status !== 0) throw new Error(stderr);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

const forLong = ["--seconds", "3600"];

test.each(["text", "json"])("every change is told, whether the log is %s", async (format) => {
  const machine = await startMachine({}, "--policy", "slo", "--log-format", format);
  const run = (options: readonly string[], program: readonly string[]) =>
    machine.elsewhere([...cotenantItself, "run", ...options, "--", ...program]);
  const load = [...cotenantItself, "load", "--rate", "40", ...forLong];
  const serve = run(["--class", "high", "--name", "serve", "--slo", "p99=50ms"], load);
  await serve.said("load: serving");
  const stranger = run(["--class", "best-effort", "--ungated"], load);
  const overQuota = fileURLToPath(new URL("../deploy/over-quota.ts", import.meta.url));
  const greedy = run(
    ["--class", "best-effort", "--name", "greedy", "--memory", "512MiB"],
    [process.execPath, "--import", "tsx", overQuota],
  );
  await greedy.said("refused");
  const told = async (event: string, facts: object) =>
    await eventually(`${event} ${JSON.stringify(facts)}`, async () => {
      const events = await eventsOf(machine);
      return events.some((one) =>
        Object.entries({ event, ...facts }).every(([k, v]) => one[k] === v),
      );
    });
  await told("attached", { client: "serve", class: "high", pid: serve.pid, p99Us: 50_000 });
  await told("attached", { client: "greedy", class: "best-effort", memory: 2 ** 29 });
  await told("memory refused", { client: "greedy", pid: greedy.pid, times: 1, quota: 2 ** 29 });
  // One that ends at once is counted, too.
  const ending = async () => {
    const brief = ["--class", "best-effort", "--name", "brief", "--memory", "256MiB"];
    return run(brief, [process.execPath, "--import", "tsx", overQuota, "and ends"]).ended;
  };
  let { stderr } = await ending();
  while (stderr.includes("is busy: it has not answered")) {
    console.warn(
      "The agent answered late, because the machine is busy: another client is started.",
    );
    ({ stderr } = await ending());
  }
  expect(stderr).toContain("1.0 GiB of GPU memory refused: brief may have");
  await told("memory refused", { client: "brief", times: 1, quota: 2 ** 28 });
  await told("objective", { client: "serve", state: "learning" });
  await told("stranger", { pid: stranger.pid });
  stranger.signal("SIGKILL");
  serve.signal("SIGKILL");
  await told("released", { client: "serve", pid: serve.pid });
  await machine.cotenant(["down"]);

  const events = await eventsOf(machine);
  expect(events.map(({ event }) => event).slice(0, 2)).toEqual(["starting", "started"]);
  expect(events[1]).toMatchObject({ policy: "slo", mode: "isolated", gpu: "soft" });
  expect(events.at(-1)).toMatchObject({ event: "stopping", because: "asked to" });
  expect(await eventsOf(machine, "--since", "1us")).toEqual([]);
  expect(await eventsOf(machine, "--since", "1d")).toEqual(events);
});

test("an older log that was put aside counts, what is no entry does not, and --since leaves out what is older", async () => {
  const machine = emptyMachine();
  const { log } = pathsIn(machine.directory);
  writeFileSync(`${log}.1`, "2001-01-01T00:00:00.000Z attached client=old\n");
  writeFileSync(log, `a crash\n${new Date().toISOString()} attached client=new\n`);
  const clients = async (...args: string[]) =>
    (await eventsOf(machine, ...args)).map(({ client }) => client);
  expect(await clients()).toEqual(["old", "new"]);
  expect(await clients("--since", "1h")).toEqual(["new"]);
  const { stdout } = await machine.cotenant(["events"]);
  expect(stdout.split("\n")[0]).toBe("2001-01-01T00:00:00.000Z attached client=old");
});

test("--follow tells what happens while it runs", async () => {
  const machine = await startMachine();
  const file = `${machine.directory}/followed`;
  const follower = machine.elsewhere([
    ...["sh", "-c", `exec "$@" > ${file}`, "sh"],
    ...[...cotenantItself, "events", "--follow", "--json"],
  ]);
  const followed = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
  await eventually("it tells what was", () => followed().includes('"event":"started"'));
  const load = machine.load("high", ["--rate", "40", ...forLong]);
  await load.serving;
  await eventually("it tells what is", () => followed().includes(`"pid":${load.pid}`));
  follower.signal("SIGTERM");
  expect(await follower.ended).toMatchObject({ status: 0, stderr: "" });
  await load.finish();
});

test("an agent in the foreground logs to stderr and to the file alike", async () => {
  const machine = emptyMachine();
  const agent = machine.elsewhere([...cotenantItself, "up", "--gpu", "soft", "--foreground"]);
  await agent.said(" started ");
  await machine.cotenant(["down"]);
  const { stderr } = await agent.ended;
  expect(stderr).toMatch(/^\S+Z started .+\n\S+Z stopping because="asked to"\n$/);
  expect(readFileSync(pathsIn(machine.directory).log, "utf8")).toBe(stderr);
});
