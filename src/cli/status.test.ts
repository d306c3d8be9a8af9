import { expect, test } from "vitest";
import { exampleStatus } from "../../test/agent/example.ts";
import { describe } from "./status.ts";

test("a status for people: each GPU, who is on it, and who has no slot", () => {
  expect(describe(exampleStatus)).toMatchInlineSnapshot(`
    "Agent 1, up 10 s: mode isolated, policy strict, 0.5 % CPU, 57 MiB

    Fake GPU GPU-a, 20.0 GiB of 80.0 GiB used, 75 % busy, 1980 MHz
      class        name   pid  bursts/s      p50      p99  active   ahead  held   turn  memory
      high         serve   42      25.0  2.00 ms  4.00 ms   5.0 %   60 us
      best-effort  train   43                                70 %  0.0 us  10 %  0.0 %   0 MiB
      stranger: pid 9 other (0 MiB) holds no slot, so it is neither protected nor gated"
  `);
});

test("a client that has not come back from a restart is marked", () => {
  const [gpu] = exampleStatus.gpus;
  const high = gpu?.high.map((client) => ({ ...client, connected: false })) ?? [];
  const gpus = gpu ? [{ ...gpu, high }] : [];
  expect(describe({ ...exampleStatus, gpus })).toContain("high (detached)");
});

test("before the first client of a software GPU there is nothing to show", () => {
  expect(describe({ ...exampleStatus, gpus: [] })).toContain("No client has come yet.");
});
