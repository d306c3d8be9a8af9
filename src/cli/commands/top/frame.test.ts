// The screen as lines, from what is known, what is chosen and a size.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { displayWidth } from "#core";
import {
  exampleSnapshot,
  exampleTimeline,
  exampleWorst,
  gpuOf,
  missed,
  training,
} from "../../../../test/dashboard/example.ts";
import { frameOf } from "./frame.ts";
import { textOf } from "./line.ts";
import { firstView, type Model, type Size, type View } from "./model.ts";
import { orderText } from "./orders.ts";

const modelOf = (change: Partial<Model> = {}): Model => {
  const snapshot = change.snapshot ?? exampleSnapshot();
  return {
    snapshot,
    timelines: new Map([["GPU-a", exampleTimeline]]),
    worst: [exampleWorst],
    lost: undefined,
    now: snapshot.at,
    ...change,
  };
};

const linesOf = (model: Model, view: Partial<View> = {}, size: Size = { columns: 120, rows: 40 }) =>
  frameOf(model, { ...firstView, ...view }, size).lines.map(textOf);

const many = (count: number) =>
  exampleSnapshot([
    gpuOf(
      Array.from({ length: count }, (_, i) =>
        training({ id: `best-effort ${i} ${i}`, name: `t${i}`, pid: i }),
      ),
    ),
  ]);

const wide = { columns: 240, rows: 40 };

describe("a screen", () => {
  test("names the service that each reason is about, where several have one", () => {
    const other = missed({ id: "high 1 44", name: "chat", pid: 44 });
    const text = linesOf(modelOf({ snapshot: exampleSnapshot([gpuOf([missed(), other])]) })).join(
      "\n",
    );
    for (const name of ["serve", "chat"])
      expect(text).toContain(
        `Why (${name}): 900 us was queued ahead.\nWhat to do (${name}): shorter chunks.`,
      );
  });

  test("says how services fare, why not better, where time went, and who is there", () => {
    const lines = linesOf(modelOf());
    const text = lines.join("\n");
    expect(lines).toHaveLength(40);
    expect(lines[1]).toBe("Fake GPU  20.0 GiB of 80.0 GiB used, 75 % busy");
    expect(text).toContain(
      "serve is 56 % slower than solo, objective 10 %: missed; 模型训练 retains 74 %.",
    );
    expect(text).toContain("Why: 900 us was queued ahead.\nWhat to do: shorter chunks.");
    expect(text).toMatch(/^service +▃+ +25 %$/m);
    expect(text).toMatch(/^best-effort +▅+ +50 %$/m);
    expect(text).toMatch(/^held +▂+ +13 %$/m);
    expect(text).toMatch(/^serve +high +42 +4.00 ms +56 % +10 % /m);
    expect(text).toMatch(/^模型训练 +best-effort +43 +74 % +68 % /m);
    expect(text).toMatch(/event-19 .*\n.*event-18 /);
  });

  test("shows a missed objective, with its cause, in the alarm's style, and nothing else", () => {
    const alarms = (clients: Parameters<typeof gpuOf>[0]) =>
      frameOf(modelOf({ snapshot: exampleSnapshot([gpuOf(clients)]) }), firstView, {
        columns: 120,
        rows: 40,
      })
        .lines.flat()
        .filter(({ style }) => style === "alarm")
        .map(({ text }) => text.split(" ").slice(0, 2).join(" "));
    expect(alarms([missed(), training()])).toEqual(["serve is", "Why: 900", "serve "]);
    expect(alarms([missed({ standing: "met", problem: undefined }), training()])).toEqual([]);
  });

  test("names an untracked process and how it is started as a client", () => {
    const strangers = [
      {
        text: "untracked process: pid 9 other",
        adopt: "cotenant run --class best-effort -- other",
      },
    ];
    const text = linesOf(modelOf({ snapshot: exampleSnapshot([gpuOf([], { strangers })]) })).join(
      "\n",
    );
    expect(text).toContain(
      "untracked process: pid 9 other\nNext time: cotenant run --class best-effort -- other",
    );
  });

  test("without a terminal has as many lines as there are, and no keys", () => {
    const lines = linesOf(modelOf({ snapshot: many(100) }), {}, { columns: 120, rows: Infinity });
    expect(lines.filter((one) => one.includes("best-effort "))).toHaveLength(101);
    expect(lines.join("\n")).not.toContain("q quit");
  });

  test("says since when its data are old, and that it is paused", () => {
    const { snapshot } = modelOf();
    const lines = linesOf(modelOf({ lost: "No agent is running.", now: snapshot.at + 12_400 }), {
      paused: true,
    });
    expect(lines[1]).toMatch(/^Old data, from \d\d:\d\d:05, 12 s ago. No agent is running\./);
    expect(lines[2]).toMatch(/^Paused at \d\d:\d\d:05/);
    expect(linesOf(modelOf())[1]).toBe("Fake GPU  20.0 GiB of 80.0 GiB used, 75 % busy");
  });

  test("numbers GPUs where there are several", () => {
    const gpus = [gpuOf([missed()]), gpuOf([training()], { uuid: "GPU-b", name: "Other GPU" })];
    const text = linesOf(modelOf({ snapshot: exampleSnapshot(gpus) })).join("\n");
    expect(text).toMatch(/^0: Fake GPU/m);
    expect(text).toMatch(/^1: Other GPU/m);
    expect(text).toMatch(/^gpu +name/m);
    expect(text).toMatch(/^ +1 +模型训练/m);
  });
});

describe("a job of several processes", () => {
  const processes = ["GPU-a", "GPU-b"].map((gpu, rank) => ({
    ...{ gpu, pid: 100 + rank, text: `rank ${rank} (pid ${100 + rank}) retains 6${rank} %` },
  }));
  const gang = training({
    ...{ id: "job gang", name: "gang", pid: 100, size: "2 ranks on 2 GPUs", processes },
  });
  const parts = ["gang, best-effort: rank 0 (pid 100) of 2 ranks on 2 GPUs"];
  const gpus = [gpuOf([missed()], { parts }), gpuOf([training()], { uuid: "GPU-b" })];
  const snapshot = { ...exampleSnapshot(gpus), jobs: [gang] };
  const model = modelOf({ snapshot });

  test("on several GPUs is one row that names them, and a line of each GPU", () => {
    const lines = linesOf(model);
    expect(lines.filter((line) => /\bgang +best-effort\b/.test(line))).toEqual([
      expect.stringMatching(/^0,1 +gang +best-effort +100 \+1 /),
    ]);
    expect(lines).toContain(parts[0]);
  });

  test("on several GPUs says why it misses its objective, though no GPU's clients do", () => {
    const service = missed({ id: "job llm", name: "llm", size: gang.size, processes });
    const lines = linesOf(modelOf({ snapshot: { ...snapshot, gpus: [], jobs: [service] } }));
    expect(lines).toContain("Why (llm): 900 us was queued ahead.");
    expect(lines).toContain("What to do (llm): shorter chunks.");
  });

  test("has its processes in its details", () => {
    const { clients } = frameOf(model, firstView, { columns: 120, rows: 40 });
    expect(clients[0]).toBe("job gang");
    const text = linesOf(model, { page: "details", selected: "job gang" }).join("\n");
    expect(text).toContain("gang, best-effort, 2 ranks on 2 GPUs\npid: 100 +1, ");
    expect(text).toContain("GPU 0: rank 0 (pid 100) retains 60 %\n");
    expect(text).toContain("GPU 1: rank 1 (pid 101) retains 61 %\n");
  });

  test("is parked as a whole, and not moved", () => {
    const asked = (letter: "P" | "M") => orderText({ letter, key: "job gang" }, model);
    expect(asked("P")).toMatch(/^Park gang \(pid 100 \+1\)\? /);
    expect(asked("M")).toContain("can't be moved: it has several processes.");
  });
});

describe("in a smaller terminal", () => {
  const words = fc.string({ unit: "grapheme", maxLength: 60 });
  test("no line is wider than it, and there are as many as it has rows, whatever names there are", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 210 }),
        fc.integer({ min: 1, max: 60 }),
        fc.constantFrom<View["page"]>("clients", "details", "help"),
        words,
        words,
        (columns, rows, page, name, sentence) => {
          const printed = (text: string) => text.replace(/\p{C}|\p{Zl}|\p{Zp}/gu, "?");
          const clients = [
            missed({ name: printed(name) }),
            training({ command: printed(sentence) }),
          ];
          const snapshot = exampleSnapshot([gpuOf(clients, { sentence: printed(sentence) })]);
          const view = { page, selected: "GPU-a high 0 42" };
          const lines = linesOf(modelOf({ snapshot }), view, { columns, rows });
          expect(lines).toHaveLength(rows);
          for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
        },
      ),
    );
  });

  test.each([
    { columns: 40, has: ["name", "class", "p99 now", "keeps"], not: ["memory", "command"] },
    {
      columns: 80,
      has: ["name", "class", "pid", "p99 now", "slower by", "objective", "keeps"],
      not: ["command"],
    },
    {
      columns: 200,
      has: ["p99 alone", "waited", "memory", "user", "container", "command", "last event"],
      not: [],
    },
  ])("of $columns columns the most important columns are there", ({ columns, has, not }) => {
    const { titles } = frameOf(modelOf(), firstView, { columns, rows: 40 });
    expect(titles).toEqual(expect.arrayContaining(has));
    for (const title of not) expect(titles).not.toContain(title);
  });

  test("a user has its name where it is known, and else its number", () => {
    const clients = [missed({ user: "alice" }), training({ uid: 2000, user: undefined })];
    const lines = linesOf(modelOf({ snapshot: exampleSnapshot([gpuOf(clients)]) }), {}, wide);
    expect(lines.find((line) => /^serve +high /.test(line))).toMatch(/ alice /);
    expect(lines.find((line) => /^模型训练 +best-effort /.test(line))).toMatch(/ 2000 /);
  });

  test("a name of wide characters is cut by the columns that it takes", () => {
    const name = "服务".repeat(20);
    const lines = linesOf(
      modelOf({ snapshot: exampleSnapshot([gpuOf([missed({ name })])]) }),
      {},
      { columns: 80, rows: 30 },
    );
    const row = lines.find((one) => one.startsWith("服务")) ?? "";
    const head = lines.find((one) => one.startsWith("name")) ?? "";
    expect(row).toMatch(/^(服务)+服?… +high/);
    expect(displayWidth(row.slice(0, row.indexOf("high")))).toBe(head.indexOf("class"));
  });

  test("the timeline gives way to clients, and clients that have no room are counted", () => {
    const tall = linesOf(modelOf({ snapshot: many(30) }), {}, { columns: 80, rows: 50 });
    const low = linesOf(modelOf({ snapshot: many(30) }), {}, { columns: 80, rows: 10 });
    expect(tall.some((one) => one.startsWith("idle"))).toBe(true);
    expect(low.some((one) => one.startsWith("idle"))).toBe(false);
    const [, more = ""] = /… (\d+) more clients/.exec(low.join("\n")) ?? [];
    expect(low.filter((one) => /^t\d+ /.test(one))).toHaveLength(30 - Number(more));
  });

  test("many GPUs leave room for clients, and what is left out is counted", () => {
    const gpus = Array.from({ length: 16 }, (_, i) => gpuOf([missed()], { uuid: `GPU-${i}` }));
    const text = linesOf(
      modelOf({ snapshot: exampleSnapshot(gpus) }),
      {},
      { columns: 80, rows: 24 },
    ).join("\n");
    expect(text).toMatch(/^… \d+ more lines in a higher terminal\ngpu +name/m);
    expect(text).toMatch(/^ +0 +serve +high/m);
  });

  test("the selected client is listed wherever it stands", () => {
    for (const i of [0, 15, 29]) {
      const selected = `GPU-a best-effort ${i} ${i}`;
      const { lines } = frameOf(
        modelOf({ snapshot: many(30) }),
        { ...firstView, selected },
        { columns: 80, rows: 16 },
      );
      const chosen = lines.flat().filter(({ style }) => style === "selected");
      expect(chosen.map(({ text }) => text.split(" ")[0])).toEqual([`t${i}`]);
    }
  });
});

test("the table is sorted by amounts, not by what is printed, and those without one come last", () => {
  const client = (name: string, amount: number | undefined) =>
    training({
      name,
      id: name,
      figures: [{ label: "keeps", value: `${amount}`, amount }],
    });
  const clients = [
    client("nine", 9),
    client("none", undefined),
    client("ten", 10),
    client("one", 1),
  ];
  const order = (reverse: boolean) =>
    frameOf(
      modelOf({ snapshot: exampleSnapshot([gpuOf(clients)]) }),
      { ...firstView, sort: "keeps", reverse },
      { columns: 80, rows: 40 },
    );
  expect(order(false).clients).toEqual(["GPU-a one", "GPU-a nine", "GPU-a ten", "GPU-a none"]);
  expect(order(true).clients).toEqual(["GPU-a ten", "GPU-a nine", "GPU-a one", "GPU-a none"]);
  expect(order(true).lines.map(textOf).join("\n")).toContain("keeps▼");
});

test("details say how the client fares, its figures in full, and what was queued ahead of its worst bursts", () => {
  const details = (selected: string) =>
    linesOf(modelOf(), { page: "details", selected }).join("\n");
  const service = details("GPU-a high 0 42");
  expect(service).toContain("pid: 42, uid 1000, container 0123456789ab");
  expect(service).toContain("Why: 900 us was queued ahead.");
  expect(service).toMatch(/p99 now +4.00 ms +99th percentile of the bursts/);
  expect(service).toContain(
    "lasted 16.8 ms, waited 16.7 ms for the GPU: 900 us of 模型训练 was queued ahead",
  );
  expect(service).toContain("What to set: shorter chunks");
  expect(details("GPU-a best-effort 0 43")).not.toContain("Worst bursts");
  expect(details("GPU-a gone")).toContain("This client has gone.");
});
