// An agent of the laboratory: the product's, with policies that only replicate published systems.
import { mkdirSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { cotenant, cotenantLab, temporary } from "../cli/by-hand.ts";

test("runs a policy that cotenant has not, and is an agent like any other", () => {
  const env = { COTENANT_DIR: `${temporary()}/run` };
  onTestFinished(() => void cotenant(["down"], env));
  const { status, stdout, stderr } = cotenantLab(["up", "--gpu", "soft", "--policy", "reef"], env);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toContain("mode isolated, policy reef.");
  expect(JSON.parse(cotenant(["status", "--json"], env).stdout)).toMatchObject({
    agent: { policy: "reef" },
  });
});

test("says why it did not start", () => {
  const directory = `${temporary()}/run`;
  mkdirSync(`${directory}/agent.lock`, { recursive: true, mode: 0o700 });
  const { status, stderr } = cotenantLab(["up", "--gpu", "soft"], { COTENANT_DIR: directory });
  expect(stderr).toBe(
    `cotenant-lab: The agent did not start: open of ${directory}/agent.lock failed: illegal operation on a directory. Its log is ${directory}/agent.log.\n`,
  );
  expect(status).toBe(1);
});

test("refuses what only the model can run, with the reason", () => {
  expect(cotenantLab(["up", "--gpu", "soft", "--policy", "tick-tock"])).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(
      /^cotenant-lab: tick-tock runs on the modelled GPU only: .* cotenant-lab model --help says how\.\n$/,
    ),
  });
});
