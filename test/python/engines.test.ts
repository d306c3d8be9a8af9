// The plugins for engines against the engines' own sources, as their wheels have them: nobody else decides what they look like.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

test.each([
  ["vllm", "0.22.1"],
  ["vllm", "0.33.0"],
  ["sglang", "0.5.15"],
  ["sglang", "0.5.23"],
])("%s %s has what its plugin follows", (engine, version) => {
  const env = { ...process.env, PYTHONPATH: `${process.cwd()}/python` };
  const command = ["-B", "test/python/real_engine.py", engine, version];
  const { stdout, stderr } = spawnSync("python3", command, { env, encoding: "utf8" });
  expect(`${stdout}${stderr}`).toBe("followed\n");
});
