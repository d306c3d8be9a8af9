import { afterEach, expect, test } from "vitest";
import { runToEnd } from "./child.ts";

/** The handlers of a signal to this process. */
const handlersOf = (signal: "SIGINT" | "SIGTERM") =>
  process
    .listeners(signal)
    .filter((listener) => !before.has(listener))
    .map((listener) => listener(signal));

const before = new Set([...process.listeners("SIGINT"), ...process.listeners("SIGTERM")]);
const run = (program: string) =>
  runToEnd([process.execPath, "-e", program], {
    env: process.env,
    seconds: undefined,
    progress: () => {},
  });
const forever = "setInterval(() => {}, 1000)";

afterEach(() => {
  // No handler of a run is left.
  expect(handlersOf("SIGINT")).toEqual([]);
});

test("a command that ends by itself", async () => {
  expect(await run("process.exit(3)")).toMatchObject({
    how: "status 3",
    ok: false,
    late: false,
    interrupted: false,
  });
});

test("a termination is passed on", async () => {
  const ended = run(forever);
  handlersOf("SIGTERM");
  expect(await ended).toMatchObject({ how: "signal 15", interrupted: true, late: false });
});

test("an interrupt that did not reach the command is passed on when it is given again", async () => {
  const ended = run(forever);
  handlersOf("SIGINT");
  handlersOf("SIGINT");
  expect(await ended).toMatchObject({ how: "signal 15", interrupted: true });
});

test("a command that can't be started is named", async () => {
  const ended = runToEnd(["/nonexistent/program"], {
    env: process.env,
    seconds: undefined,
    progress: () => {},
  });
  await expect(ended).rejects.toThrow(
    'Cannot run "/nonexistent/program": there is no such command.',
  );
});
