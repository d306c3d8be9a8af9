// The agent reads a service's own histograms: a real HTTP server that answers, changes, is slow, lies and dies.
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { Endpoint, parseMetricsUrl } from "#agent";
import { requestLimits } from "#policy";

const limits = requestLimits({ ttft: 250_000 });
/** For answers that come however slow the machine is. */
const PATIENT_MS = 600_000;

const answerOf = (counts: readonly number[]) =>
  ["0.1", "0.25", "+Inf"]
    .map((le, i) => `vllm:time_to_first_token_seconds_bucket{le="${le}"} ${counts[i]}`)
    .join("\n");

async function served(answer: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/metrics`, server };
}

/** A server whose counts the test sets, and an endpoint with a clock that the test turns. */
async function engine() {
  let counts: readonly number[] = [0, 0, 0];
  let now = 0;
  let answers = 0;
  const { url, server } = await served((_, response) => {
    answers++;
    response.end(answerOf(counts));
  });
  const endpoint = new Endpoint(url, limits, () => now, PATIENT_MS);
  return {
    endpoint,
    server,
    answers: () => answers,
    /** A second after whatever was before, so that it is time to ask. */
    ask: () => {
      now += 1e9;
      return endpoint.ask();
    },
    count: (...next: readonly number[]) => {
      counts = next;
    },
    pass: (seconds: number) => {
      now += 1e9 * seconds;
    },
  };
}

describe("a service that answers", () => {
  test("is unheard until its first answer; what it counted before does not count", async () => {
    const { endpoint, count, ask } = await engine();
    expect(endpoint.take()).toBeUndefined();
    count(100, 100, 200);
    await ask();
    expect(endpoint.take()).toEqual({});
    count(110, 120, 221);
    await ask();
    expect(endpoint.take()).toEqual({ ttft: { values: 21, above: 1, near: 11 } });
    expect(endpoint.take()).toEqual({});
    expect(endpoint.status).toMatchObject({
      unheard: undefined,
      kinds: [{ kind: "ttft", limitUs: 250_000, judgedAtUs: 250_000, p50Us: 250_000 }],
    });
  });

  test("tells once for each answer how many requests wait in it", async () => {
    const { url } = await served((_, response) => {
      response.end(`${answerOf([0, 0, 0])}\nvllm:num_requests_waiting 3`);
    });
    const endpoint = new Endpoint(url, limits, () => 0, PATIENT_MS);
    await endpoint.ask();
    expect(endpoint.take()).toEqual({ waiting: 3 });
    expect(endpoint.take()).toEqual({});
  });

  test("whose histogram begins above the limit has full protection, and status says so", async () => {
    const name = "vllm:request_time_per_output_token_seconds";
    let values = 0;
    const { url } = await served((_, response) => {
      const buckets = ["0.01", "0.025", "+Inf"].map((le) => `${name}_bucket{le="${le}"} ${values}`);
      response.end(
        [...buckets, `${name}_sum ${0.005 * values}`, `${name}_count ${values}`].join("\n"),
      );
    });
    let now = 0;
    const judgedAt = async (tpot: number, each: number) => {
      const endpoint = new Endpoint(url, requestLimits({ tpot }), () => now, PATIENT_MS);
      for (let i = 0; i < 5; i++) {
        now += 1e9;
        values += each;
        await endpoint.ask();
      }
      return { seen: endpoint.take(), unheard: endpoint.status.unheard };
    };
    expect(await judgedAt(8000, 40)).toEqual({
      seen: undefined,
      unheard:
        "its histogram of tpot begins at 10.00 ms, so a p99 of 8.00 ms is not measurable: state 10.00 ms or more, or the mean",
    });
    expect(await judgedAt(10_000, 40)).toMatchObject({
      seen: { tpot: { values: 160, above: 0 } },
      unheard: undefined,
    });
    expect(await judgedAt(8000, 1)).toMatchObject({
      seen: { tpot: { values: 4, above: 0 } },
      unheard: undefined,
    });
  });

  test("has its answers added up between two samples", async () => {
    const { endpoint, count, ask } = await engine();
    await ask();
    for (const n of [1, 2, 3]) {
      count(n, n, 2 * n);
      await ask();
    }
    expect(endpoint.take()).toEqual({ ttft: { values: 6, above: 3, near: 3 } });
  });

  test("is asked once a second, and five times a second while it ends many requests", async () => {
    const { endpoint, count, pass, ask, answers } = await engine();
    const asksIn = async (seconds: number) => {
      const before = answers();
      for (let i = 0; i < 20 * seconds; i++) {
        pass(0.05);
        count(answers() * 10, answers() * 10, answers() * 10);
        await endpoint.ask();
      }
      return answers() - before;
    };
    await ask();
    expect(await asksIn(0.9)).toBe(0);
    expect(await asksIn(0.1)).toBe(1);
    expect(await asksIn(2)).toBeGreaterThan(8);
  });

  test("takes 2 % of its time at most to answer", async () => {
    let now = 0;
    let answeringNs = 0;
    let costNs = 200e6;
    const encodings = new Set<string | undefined>();
    const { url } = await served(({ headers }, response) => {
      encodings.add(headers["accept-encoding"]);
      // While it makes its answer nothing else goes on in it.
      now += costNs;
      answeringNs += costNs;
      response.end(answerOf([0, 0, 0]));
    });
    const endpoint = new Endpoint(url, limits, () => now, PATIENT_MS);
    const passed = async (seconds: number) => {
      for (const untilNs = now + 1e9 * seconds; now < untilNs; now += 0.25e9) await endpoint.ask();
    };
    await passed(100);
    expect(answeringNs / now).toBeGreaterThan(0.01);
    expect(answeringNs / now).toBeLessThan(0.025);
    expect(endpoint.status).toMatchObject({ unheard: undefined });
    expect(endpoint.status.slow).toEqual({ everyMs: 10_000, answerMs: 200 });
    expect(endpoint.take()).toMatchObject({ ttft: { values: 0 } });
    costNs = 1e6;
    await passed(30);
    expect(endpoint.status.slow).toBeUndefined();
    expect([...encodings]).toEqual(["identity"]);
  });

  test("is unheard two seconds after an answer was due that comes seldom", async () => {
    let now = 0;
    const { url } = await served((_, response) => {
      now += 100e6;
      response.end(answerOf([0, 0, 0]));
    });
    const endpoint = new Endpoint(url, limits, () => now, PATIENT_MS);
    await endpoint.ask();
    now += 6.9e9;
    expect(endpoint.take()).toEqual({});
    now += 0.1e9;
    expect(endpoint.take()).toBeUndefined();
  });

  test("keeps the quantiles of its last busy second in a quiet one", async () => {
    const { endpoint, count, ask } = await engine();
    await ask();
    count(9, 9, 9);
    await ask();
    await ask();
    expect(endpoint.status.kinds).toMatchObject([{ p99Us: 100_000 }]);
  });
});

describe("a service that does not", () => {
  test("is unheard three seconds after its last answer, and why is said; then heard again", async () => {
    const { endpoint, count, pass, ask, server } = await engine();
    await ask();
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    await ask();
    pass(1);
    expect(endpoint.take()).toEqual({});
    pass(1);
    expect(endpoint.take()).toBeUndefined();
    expect(endpoint.status.unheard).toBe("it can't be read: connection refused");
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    count(1, 1, 1);
    await ask();
    expect(endpoint.take()).toEqual({ ttft: { values: 1, above: 0, near: 0 } });
  });

  test.each<{ what: string; answer: RequestListener; because: string; withinMs?: number }>([
    {
      what: "has no such histogram",
      answer: (_, response) => response.end("up 1\n"),
      because:
        "it has no histogram of ttft, which Cotenant's Python package beside vLLM or SGLang reports",
    },
    {
      what: "refuses",
      answer: (_, response) => response.writeHead(401).end(),
      because: "HTTP status 401",
    },
    {
      what: "sends elsewhere",
      answer: (_, response) =>
        response.writeHead(302, { location: "http://169.254.169.254/" }).end(),
      because: "redirect",
    },
    {
      what: "says nothing",
      answer: () => {},
      because: "does not answer within 300 ms",
      withinMs: 300,
    },
    {
      what: "never ends its answer",
      answer: (_, response) => {
        const more = () => response.writable && response.write("x".repeat(1 << 20), more);
        more();
      },
      because: "longer than 4 MiB",
    },
  ])("because it $what is unheard", async ({ answer, because, withinMs = PATIENT_MS }) => {
    const { url } = await served(answer);
    const endpoint = new Endpoint(url, limits, () => 0, withinMs);
    await endpoint.ask();
    expect(endpoint.take()).toBeUndefined();
    expect(endpoint.status.unheard).toContain(because);
  });

  test("is asked once at a time", async () => {
    let asked = 0;
    const { url } = await served((_, response) => {
      asked++;
      response.end();
    });
    const endpoint = new Endpoint(url, limits, () => 0, PATIENT_MS);
    await Promise.all([endpoint.ask(), endpoint.ask(), endpoint.ask()]);
    expect(asked).toBe(1);
  });
});

test.each([
  "http://127.0.0.1:8000/metrics",
  "http://127.1.2.3/metrics",
  "http://[::1]:8000/metrics",
  "http://localhost:8000/metrics",
])("%s is an endpoint", (url) => {
  expect(parseMetricsUrl(url)).toBe(url);
});

test.each([
  "https://127.0.0.1/metrics",
  "http://10.0.0.1/metrics",
  "http://127.0.0.1.example.com/metrics",
  "http://user@127.0.0.1/metrics",
  "file:///etc/passwd",
  "metrics",
  `http://127.0.0.1/${"m".repeat(160)}`,
])("%s is none", (url) => {
  expect(() => parseMetricsUrl(url)).toThrow(`"${url}" is not an`);
});
