// `cotenant try` on a GPU that takes no best-effort work for a moment.

import { renameSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { emptyMachine, startMachine, temporaryDirectory } from "../machine.ts";
import { service, short, started, training } from "../trying.ts";

test("a training that waits for its GPU is told of, and is measured when the GPU takes it", async () => {
  const softGpu = temporaryDirectory();
  const env = { COTENANT_SOFTGPU_DIR: softGpu };
  // Counts at the first sample, before a client can come.
  const pretend = (rowsPending: boolean) => {
    writeFileSync(`${softGpu}/new`, JSON.stringify({ all: { rowsPending } }));
    renameSync(`${softGpu}/new`, `${softGpu}/vitals.json`);
  };
  const other = (await startMachine(env)).load("high", ["--rate", "20", "--seconds", "3600"]);
  await other.serving; // the software GPU is there now
  await other.finish();
  pretend(true);
  const words = [...short, "--no-mps", "--", ...service, "--", ...training];
  const command = started(emptyMachine(env), ...words);
  await command.said("waits");
  pretend(false);
  await command.said("the training alone");
  command.signal("SIGINT");
  const { stderr } = await command.ended;
  expect(stderr).toMatch(/training.* waits (before its start|at its first use of the GPU): No new/);
});
