// The objective in a client's Hello: its text, or the fields of a client that has none.
import { expect, test } from "vitest";
import { pathsIn } from "#agent";
import { startAgentHere } from "../agent-here.ts";
import { attach, HandClock, type HelloFields, identified, temporaryDirectory } from "../fakes.ts";

async function shownOf(fields: HelloFields) {
  const directory = temporaryDirectory();
  const agent = await startAgentHere({
    directory,
    env: process.env,
    clock: new HandClock(),
    identify: (_, { pid }) => identified(pid),
  });
  await attach(pathsIn(directory).socket, fields);
  const [high] = agent.status().gpus.flatMap((gpu) => gpu.high);
  return { p99: high?.sloP99Us, slowdown: high?.sloSlowdown, requests: high?.sloRequests };
}

test("a text states all of it, and the fields do not count", async () => {
  const slo = "p99=20ms slowdown=5% ttft.p90=200ms tpot.mean=8ms";
  expect(await shownOf({ slo, sloP99Us: 7, sloTtftUs: 8 })).toEqual({
    p99: 20_000,
    slowdown: 0.05,
    requests: { ttft: 200_000, tpot: 8000, quantiles: { ttft: "p90", tpot: "mean" } },
  });
});

test.each(["", "ttft.p98=200ms"])("with the text %j the fields state it", async (slo) => {
  expect(await shownOf({ slo, sloP99Us: 10_000, sloTtftUs: 300_000 })).toEqual({
    p99: 10_000,
    slowdown: undefined,
    requests: { ttft: 300_000 },
  });
});
