import { expect, test } from "vitest";
import { identified } from "../../../test/agent/fakes.ts";
import { jobsCalled } from "./called.ts";
import { type Client, defaultApplicant } from "./gpu.ts";

const client = (pid: number, name: string, text?: string, kind: Client["class"] = "high") => ({
  ...{ ...defaultApplicant, class: kind, pid, name, slot: pid, startTime: 1, connected: true },
  ...{ identity: identified(pid), job: { text, rank: undefined } },
});

const gpus = [
  { clients: [client(1, "llm", "a"), client(2, "other"), client(3, "llm", "a", "best-effort")] },
  { clients: [client(4, "worker", "a"), client(5, "llm")] },
];
const called = (name: string, kind: Client["class"] = "high") =>
  jobsCalled(gpus, kind, name).map(({ client: { pid } }) => pid);

test.each([
  ["1", [1, 4]],
  ["4", [1, 4]],
  ["llm", [1, 4, 5]],
  ["2", [2]],
  ["nobody", []],
])("who calls %s calls all processes of its jobs: %o", (name, pids) => {
  expect(called(name)).toEqual(pids);
});

test("clients of another class are not called", () => {
  expect(called("1", "best-effort")).toEqual([]);
  expect(called("llm", "best-effort")).toEqual([3]);
});
