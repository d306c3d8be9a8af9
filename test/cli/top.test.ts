// `cotenant top` in a real terminal, with a real agent: it shows what `status --json` says, follows its keys and the size of the
// terminal, and leaves the terminal as it was.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { Status } from "#agent";
import { displayWidth, gibibytes, micros, percent } from "#core";
import { agentHere, agentWithTwo } from "../dashboard/agent.ts";
import { hasTmux, terminal } from "./tmux.ts";

const command = fileURLToPath(new URL("../../bin/cotenant", import.meta.url));
const failing = fileURLToPath(new URL("screen-that-fails.ts", import.meta.url));

const envOf = (directory: string) => ({ COTENANT_DIR: directory, COTENANT_CONFIG: "" });

/** `top` with a service and a training, in a terminal that had something on it before. */
async function topHere(columns: number, rows: number, env: Readonly<Record<string, string>> = {}) {
  const here = await agentWithTwo();
  const screen = terminal(columns, rows, { ...envOf(here.directory), ...env });
  screen.type("echo be''fore", "Enter");
  await screen.shows(/^before$/m);
  screen.type(`${command} top; echo ended''=$?`, "Enter");
  await screen.shows(/^serve +high/m);
  return { ...here, screen };
}

async function cotenant(directory: string, ...args: readonly string[]) {
  const env = { ...process.env, ...envOf(directory) };
  const { stdout } = await promisify(execFile)(command, args, { env });
  return stdout;
}

const rowsOf = (screen: string) =>
  screen.split("\n").filter((line) => /^\S+ +(high|best-effort) /.test(line));

describe.skipIf(!hasTmux)("top", () => {
  test("shows the numbers of status --json, the sentence and the timeline", async () => {
    const { directory, screen } = await topHere(200, 50);
    const { gpus } = JSON.parse(await cotenant(directory, "status", "--json")) as Status;
    const [high, bestEffort] = [gpus[0]?.high[0], gpus[0]?.bestEffort[0]];
    if (!high || !bestEffort) throw new Error("no client");
    const text = screen.screen();
    const [service, training] = rowsOf(text).map((row) => row.split(/ {2,}/));
    expect(service?.slice(0, 4)).toEqual(["serve", "high", `${high.pid}`, micros(high.burstP99Us)]);
    expect(service).toContain("10 %");
    expect(service).toContain(micros(high.burstWaitP99Us));
    expect(training?.slice(0, 7)).toEqual([
      ...["<b>train</b>", "best-effort", `${bestEffort.pid}`],
      ...[percent(bestEffort.keptShare ?? Number.NaN), percent(bestEffort.gpuShare)],
      ...[percent(bestEffort.heldShare), gibibytes(bestEffort.memoryUsed)],
    ]);
    expect(text).toContain(`<b>train</b> retains ${percent(bestEffort.keptShare ?? Number.NaN)}.`);
    expect(text).toMatch(/^best-effort +[▁-█]*[▂-▇] +\d\d %$/m);
  });

  test("sorts and reverses", async () => {
    const { screen } = await topHere(120, 40);
    expect(rowsOf(screen.screen()).map((row) => row[0])).toEqual(["s", "<"]);
    screen.type("s");
    await screen.shows(/^name▲.*\n<b>train.*\nserve/m);
    screen.type("r");
    await screen.shows(/^name▼.*\nserve.*\n<b>train/m);
    screen.type("<");
    await screen.hides(/▼/);
  });

  test("fits each size that the terminal gets", async () => {
    const { screen } = await topHere(120, 40);
    for (const [columns, rows] of [
      [80, 24],
      [40, 15],
      [200, 50],
    ] as const) {
      screen.resize(columns, rows);
      await expect
        .poll(() => screen.screen().trimEnd().split("\n"), { timeout: 300_000 })
        .toHaveLength(rows);
      const text = await screen.shows(/^cotenant top[\s\S]*\nserve +high[\s\S]*\nq quit/);
      for (const line of text.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
    }
  });

  test("shows details of the client that is selected: why its bursts were slow", async () => {
    const { screen } = await topHere(120, 45);
    screen.type("Down", "Enter");
    await screen.shows(
      /^serve, high, on [\s\S]*Worst bursts[\s\S]*900 us of <b>train<\/b> was queued ahead/m,
    );
    screen.type("Escape");
    await screen.shows(/^<b>train<\/b> +best-effort/m);
    screen.type("j", "Enter");
    await screen.shows(/^<b>train<\/b>, best-effort, on /m);
    screen.type("?");
    await screen.shows(/^Keys$/m);
  });

  test("pauses, goes on, and shows more of the time", async () => {
    const { screen } = await topHere(120, 40);
    await screen.shows(/1 s a column/);
    screen.type("t");
    await screen.shows(/^last 15 min, /m);
    screen.type("p");
    await screen.shows(/^Paused at /m);
    screen.type("t");
    await screen.shows(/^last day, /m);
    screen.type("p");
    await screen.hides(/^Paused at /m);
  });

  test.each(["q", "Escape", "C-c", "SIGTERM", "SIGHUP"])(
    "leaves the terminal as it was after %s",
    async (how) => {
      const { screen } = await topHere(80, 24);
      expect(screen.state()).toEqual({ alternate: true, cursor: false });
      if (how.startsWith("SIG")) process.kill(screen.child(), how as NodeJS.Signals);
      else screen.type(how);
      const text = await screen.shows(/^ended=0$/m);
      expect(text).toMatch(/^before$/m);
      expect(text).not.toContain("q quit");
      expect(screen.state()).toEqual({ alternate: false, cursor: true });
      screen.type("stty -a", "Enter");
      await screen.shows(/ icanon [\s\S]* echo /);
    },
  );

  test("is stopped by Ctrl-Z, and goes on in the foreground", async () => {
    const { screen } = await topHere(80, 24);
    screen.type("C-z");
    await screen.shows(/Stopped/);
    expect(screen.state()).toEqual({ alternate: false, cursor: true });
    screen.type("fg", "Enter");
    await screen.shows(/^serve +high[\s\S]*^q quit/m);
    screen.type("q");
    await screen.hides(/^q quit/m);
    expect(screen.state()).toEqual({ alternate: false, cursor: true });
  });

  test("an error is read on the terminal as it was, not behind the screen", async () => {
    const screen = terminal(100, 30);
    screen.type(`${process.execPath} --import tsx ${failing}; echo ended''=$?`, "Enter");
    await screen.shows(/^a screen$/m);
    screen.type("x");
    await screen.shows(/an error behind the screen[\s\S]*^ended=1$/m);
    expect(screen.state()).toEqual({ alternate: false, cursor: true });
  });

  test("says since when its data are old while the agent is gone, and goes on with the next one", async () => {
    const { agent, directory, screen } = await topHere(120, 40);
    await agent.stop("the test wants it");
    const text = await screen.shows(/^Old data, from \d\d:\d\d:\d\d, \d+ s ago\. /m);
    expect(text).toMatch(/^serve +high/m);
    await agentHere(directory);
    await screen.shows(/ serving .* because it was served$/m);
    await screen.hides(/^Old data/m);
    screen.type("q");
    await screen.shows(/^ended=0$/m);
  });

  test("has colours on a terminal, and none where NO_COLOR is set", async () => {
    const coloured = await topHere(100, 30);
    expect(coloured.screen.coloured()).toContain("\x1b[36m");
    const plain = await topHere(100, 30, { NO_COLOR: "1" });
    for (const colour of [31, 32, 33, 36])
      expect(plain.screen.coloured()).not.toContain(`\x1b[${colour}m`);
  });

  test("prints one screen and ends with --once", async () => {
    const { directory } = await agentWithTwo();
    const screen = terminal(100, 40, envOf(directory));
    screen.type(`${command} top --once; echo ended''=$?`, "Enter");
    const text = await screen.shows(/^serve +high[\s\S]*^ended=0$/m);
    expect(text).not.toContain("q quit");
  });
});

test("without a terminal top prints one screen and ends", async () => {
  const { directory } = await agentWithTwo();
  const text = await cotenant(directory, "top");
  expect(rowsOf(text)).toHaveLength(2);
  expect(text).not.toContain("\x1b");
  await expect(cotenant(`${directory}/nowhere`, "top")).rejects.toThrow(/No agent is running/);
});
