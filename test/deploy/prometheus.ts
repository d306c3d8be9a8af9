// Prometheus as Debian packages it. Tests that need it are skipped where it is missing, except in CI.
import { spawnSync } from "node:child_process";

export const hasPromtool = ["promtool", "prometheus"].every(
  (program) => spawnSync(program, ["--version"]).error === undefined,
);

if (!hasPromtool && process.env.CI)
  throw new Error("CI must have promtool and prometheus: apt-get install prometheus.");
if (!hasPromtool)
  console.warn(
    "SKIPPED: metrics, alerts and dashboard are not shown to Prometheus: it is missing.",
  );
