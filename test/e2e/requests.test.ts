// An objective about requests with real clients: the agent reads the service's metrics and gives best-effort work what
// they leave. The service's histograms come from this test, under the names of vLLM.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { service, training } from "./faults.ts";
import { eventually, type Machine, startMachine } from "./machine.ts";

const bounds = ["0.025", "0.05", "0.1", "0.25", "+Inf"];

/** An engine that makes forty values a second of each kind, each as long as the test says. */
class Engine {
  readonly #server: Server;
  readonly #counts = { time_to_first_token: [0, 0, 0, 0, 0], inter_token_latency: [0, 0, 0, 0, 0] };
  readonly seconds = { time_to_first_token: 0.09, inter_token_latency: 0.02 };

  constructor() {
    this.#server = createServer((_, response) => response.end(this.#text()));
    const timer = setInterval(() => this.#serve(), 25);
    onTestFinished(() => clearInterval(timer));
    onTestFinished(() => void this.#server.close());
  }

  /** The address of its metrics. */
  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/metrics`;
  }

  async fallSilent(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #serve(): void {
    for (const name of ["time_to_first_token", "inter_token_latency"] as const)
      this.#counts[name] = this.#counts[name].map(
        (count, i) => count + Number(this.seconds[name] <= Number(bounds[i]?.replace("+Inf", "9"))),
      );
  }

  #text = (): string =>
    Object.entries(this.#counts)
      .flatMap(([name, counts]) =>
        counts.map((count, i) => `vllm:${name}_seconds_bucket{le="${bounds[i]}"} ${count}`),
      )
      .join("\n");
}

const plain = { COTENANT_SLO_TTFT_US: "250000", COTENANT_SLO_ITL_US: "50000" };

async function servedBeside(
  machine: Machine,
  url: string,
  objective: Readonly<Record<string, string>> = plain,
) {
  const high = machine.load("high", service, { ...objective, COTENANT_SLO_METRICS: url });
  await high.serving;
  await machine.load("best-effort", training).serving;
}

const highOf = async (machine: Machine) =>
  (await machine.status()).gpus.flatMap(({ high }) => high)[0];
const objectiveOf = async (machine: Machine) => (await highOf(machine))?.objective;

test("an objective about requests is climbed to, left when tokens are late, and protected without metrics", async () => {
  const machine = await startMachine({}, "--policy", "slo");
  const engine = new Engine();
  const url = await engine.listen();
  await servedBeside(machine, url);
  await eventually("level 2", async () => ((await objectiveOf(machine))?.level ?? 0) >= 2);
  await eventually("met", async () => (await objectiveOf(machine))?.state === "met");
  expect((await highOf(machine))?.requests).toMatchObject({ url, kinds: [{ kind: "itl" }, {}] });
  const { slot = 0 } = (await highOf(machine)) ?? {};
  const serves = () => machine.memory().high[slot]?.serves;
  expect(serves()).toBe(1);
  const { stdout } = await machine.cotenant(["status"]);
  expect(stdout.replace(/\s+/g, " ")).toContain(
    "ttft 250.00 ms p99 and itl 50.00 ms p99, met, level",
  );
  expect(stdout.replace(/\s+/g, " ")).toContain(
    "itl p99 at most 25.00 ms, ttft p99 at most 100.00 ms",
  );

  engine.seconds.inter_token_latency = 0.09;
  await eventually("missed", async () => (await objectiveOf(machine))?.state === "missed");
  await eventually("strict", async () => (await objectiveOf(machine))?.level === 0);
  expect(await objectiveOf(machine)).toMatchObject({ level: 0 });

  engine.seconds.inter_token_latency = 0.02;
  await engine.fallSilent();
  await eventually("unheard", async () => (await objectiveOf(machine))?.state === "unheard");
  expect(machine.memory().settings).toMatchObject({ protect: 1, resumeDelayUs: 150 });
  const read = async () => (await machine.cotenant(["status"])).stdout.replace(/\s+/g, " ");
  const reason = `${url} does not report its requests: it can't be read: `;
  await eventually("the status says why", async () => (await read()).includes(reason));
  const said = await read();
  expect(said).toContain("it is fully protected until that is fixed");
  expect(serves()).toBe(0);

  await engine.listen(Number(new URL(url).port));
  await eventually("level 1", async () => ((await objectiveOf(machine))?.level ?? 0) >= 1);
});

test("run refuses metrics that nothing needs, and those that are not here", async () => {
  const machine = await startMachine();
  const run = (...options: string[]) =>
    machine.cotenant(["run", "--class", "high", ...options, "--", "true"]);
  expect((await run("--slo-metrics", "http://127.0.0.1/metrics")).stderr).toContain(
    "--slo-metrics is for an objective about requests.",
  );
  expect((await run("--slo", "ttft.p99=1s", "--slo-metrics", "http://10.0.0.1/")).stderr).toContain(
    "is not an http:// address on loopback",
  );
});

test("requests are judged by the limits of an objective that was changed", async () => {
  const machine = await startMachine({}, "--policy", "slo");
  const engine = new Engine();
  await servedBeside(machine, await engine.listen());
  await eventually("level 2", async () => ((await objectiveOf(machine))?.level ?? 0) >= 2);
  const { pid } = (await highOf(machine)) ?? {};
  const { status } = await machine.cotenant(["objective", String(pid), "ttft.p99=50ms"]);
  expect(status).toBe(0);
  await eventually("missed", async () => (await objectiveOf(machine))?.state === "missed");
  expect(await highOf(machine)).toMatchObject({
    objective: { level: 0 },
    sloRequests: { ttft: 50_000 },
  });
});

test("an objective is judged by the quantiles that its text states, and a mean needs a sum", async () => {
  const machine = await startMachine({}, "--policy", "slo");
  const engine = new Engine();
  const COTENANT_SLO = "ttft.p90=250ms itl.p50=50ms";
  await servedBeside(machine, await engine.listen(), { COTENANT_SLO });
  await eventually("met", async () => (await objectiveOf(machine))?.state === "met");
  const { pid } = (await highOf(machine)) ?? {};
  const { stdout } = await machine.cotenant(["status"]);
  expect(stdout.replace(/\s+/g, " ")).toContain("ttft 250.00 ms p90 and itl 50.00 ms p50, met,");
  await machine.cotenant(["objective", String(pid), "itl.mean=50ms"]);
  const says = "its histogram of itl has no sum, so a mean is not measurable";
  await eventually(says, async () => (await highOf(machine))?.requests?.unheard === says);
  await eventually("unheard", async () => (await objectiveOf(machine))?.state === "unheard");
});

test("a program that reports its requests itself is judged by these, and its endpoint is not asked", async () => {
  const machine = await startMachine({}, "--policy", "slo");
  let asked = 0;
  const server = createServer((_, response) => {
    asked++;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
  const objective = { COTENANT_SLO: "ttft.p99=250ms itl.p99=50ms", COTENANT_SLO_METRICS: url };
  const high = machine.load("high", [...service, "--tokens", "4", "--report"], objective);
  await high.serving;
  const requests = async () => (await highOf(machine))?.requests;
  await eventually("what it tells counts", async () => (await requests())?.url === "");
  expect((await requests())?.unheard).toBeUndefined();
  const before = asked;
  const looks = async () => (await machine.status()).agent.upSeconds;
  const since = await looks();
  await eventually("two seconds have passed", async () => (await looks()) > since + 2);
  expect(asked).toBeLessThanOrEqual(before + 1);
});
