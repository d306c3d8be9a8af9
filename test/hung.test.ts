import { expect, test } from "vitest";
import { runToEnd } from "./hung.ts";

test("a program that ends tells its status and what it said", async () => {
  const ended = await runToEnd("sh", ["-c", "echo no >&2; exit 3"], process.env, 60_000);
  expect(ended).toEqual({ status: 3, signal: null, stderr: "no\n", hung: false });
});

test("a program that does not end is killed, and its threads are described", async () => {
  const { status, signal, stderr, hung } = await runToEnd("sleep", ["600"], process.env, 300);
  expect({ status, signal, hung }).toEqual({ status: null, signal: "SIGKILL", hung: true });
  expect(stderr).toMatch(/HUNG: sleep 600 did not end within 0.3 s\.\nthread \d+ sleep: S/);
});

test("a child that keeps the output of a program open is described and killed with it", async () => {
  const { signal, stderr, hung } = await runToEnd(
    "sh",
    ["-c", "sleep 600 & wait"],
    process.env,
    300,
  );
  expect({ signal, hung }).toEqual({ signal: "SIGKILL", hung: true });
  expect(stderr).toMatch(/\nthread \d+ sh: S(.|\n)*\nthread \d+ sleep: S/);
});
