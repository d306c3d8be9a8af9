import { expect, test } from "vitest";
import { formatModel, parseModel, train } from "#predict";
import { exampleMetrics, examplePairs, exampleWorkloads } from "../../test/predict/example.ts";
import { readTable } from "./table.ts";

const good = {
  version: 1,
  source: "invented",
  workloads: { bert: { smBusy: 97, soloThroughput: 80 }, gpt: { smBusy: 40 } },
  colocations: [
    {
      clients: [
        { workload: "bert", throughput: 40 },
        { workload: "gpt", retained: 0.6, smShare: 0.5 },
      ],
    },
  ],
};

test("colocations of workloads that nobody knows are left out where that is asked for", () => {
  const clients = [
    { workload: "bert", retained: 1 },
    { workload: "vit", retained: 1 },
  ];
  const text = JSON.stringify({ ...good, colocations: [...good.colocations, { clients }] });
  const skipped: unknown[] = [];
  const { colocations } = readTable(text, "m.json", undefined, (names, left) =>
    skipped.push(names, left),
  );
  expect(colocations).toHaveLength(1);
  expect(skipped).toEqual([["vit"], 1]);
});

test("throughputs become retained throughputs, and workloads may come from profiles", () => {
  const resnet = { soloThroughput: 10 };
  const clients = [
    { workload: "bert", retained: 1 },
    { workload: "resnet", throughput: 5 },
    { workload: "gpt", retained: 0.1 },
  ];
  const { colocations, workloads } = readTable(
    JSON.stringify({ ...good, colocations: [...good.colocations, { clients }] }),
    "m.json",
    (name) => (name === "resnet" ? resnet : undefined),
  );
  expect(
    colocations.map(({ sides }) => sides.map(({ retained, smShare }) => [retained, smShare])),
  ).toEqual([
    [
      [0.5, 1],
      [0.6, 0.5],
    ],
    [
      [1, 1],
      [0.5, 1],
      [0.1, 1],
    ],
  ]);
  // The same workload must be the same object everywhere, because targets are compared by identity.
  expect(colocations[0]?.sides[0]?.features).toBe(workloads.get("bert"));
  expect(colocations[1]?.sides[1]?.features).toBe(resnet);
});

const clients = (first: object, second: object = { workload: "gpt", retained: 1 }) => ({
  ...good,
  colocations: [...good.colocations, { clients: [first, second] }],
});

test.each([
  { document: "{", says: "m.json, line 1: it ends early: was it cut short?" },
  { document: [], says: "m.json: it is a list, not an object." },
  { document: { ...good, version: 2 }, says: "m.json, line 1, version: is 2, not 1." },
  {
    document: { ...good, source: "" },
    says: 'm.json, line 1, source: is "", not a text.',
  },
  {
    document: { ...good, colocations: [] },
    says: "m.json, line 1, colocations: is empty: there must be at least one colocation.",
  },
  {
    document: { ...good, workloads: { bert: { speed: 1 } } },
    says: "m.json, line 1, workloads.bert.speed: no metric is called that.",
  },
  {
    document: { ...good, workloads: { bert: { smBusy: null } } },
    says: "m.json, line 1, workloads.bert.smBusy: is null, not a number of 0 or more.",
  },
  {
    document: { ...good, workloads: { bert: { smBusy: -1 } } },
    says: "m.json, line 1, workloads.bert.smBusy: is -1, not a number of 0 or more.",
  },
  {
    document: clients({ workload: "vit", retained: 1 }),
    says: 'm.json, line 1, colocations[1].clients[0].workload: nothing is known of the workload "vit".',
  },
  {
    document: clients({ retained: 1 }),
    says: "m.json, line 1, colocations[1].clients[0].workload: is missing.",
  },
  { document: clients({ workload: "bert" }), says: '"bert" has neither retained nor throughput.' },
  {
    document: clients({ workload: "gpt", throughput: 3 }),
    says: 'the throughput of "gpt" can\'t be judged without its soloThroughput.',
  },
  {
    document: clients({ workload: "bert", throughput: "3" }),
    says: 'clients[0].throughput: is "3", not a number of 0 or more.',
  },
  {
    document: clients({ workload: "bert", retained: 1, smShare: 0 }),
    says: "clients[0].smShare: is 0, not a number above 0 and at most 1.",
  },
  {
    document: { ...good, colocations: [{ clients: [{}] }] },
    says: "m.json, line 1, colocations[0].clients: are fewer than two.",
  },
])("$says", ({ document, says }) => {
  const text = typeof document === "string" ? document : JSON.stringify(document);
  expect(() => readTable(text, "m.json")).toThrow(says);
});

const rows = examplePairs(exampleWorkloads(5));
const model = train(
  "ours",
  rows,
  exampleMetrics,
  { seed: 1, now: () => 0 },
  { source: "invented", date: "", command: "" },
);

test("a model's file is readable text", () => {
  const text = formatModel(model);
  expect(text).toContain('"source": "invented"');
  expect(text.length).toBeLessThan(20_000);
  expect(parseModel(text, "model.json")).toEqual(model);
});

test.each([
  { document: "no", says: 'model.json, line 1: it has "no" where JSON has a value.' },
  { document: { version: 1 }, says: "model.json: it is no predictor." },
  {
    document: { ...model, version: 3 },
    says: "model.json, line 1, version: is 3, not 1.",
  },
  {
    document: { ...model, learner: "oracle" },
    says: 'model.json, line 1, learner: is "oracle", not one of ',
  },
  {
    document: { ...model, metrics: ["name"] },
    says: 'model.json, line 1, metrics[0]: is "name", not one of ',
  },
  {
    document: { ...model, provenance: {} },
    says: "model.json, line 1, provenance.source: is missing.",
  },
  { document: { ...model, state: {} }, says: "model.json: what it learned is damaged" },
  {
    document: { ...model, state: { ...(model.state as object), width: null } },
    says: "what it learned is damaged",
  },
  {
    document: {
      ...model,
      state: { ...(model.state as object), observations: [[0, 99, 1, 1, 0.5, 1]] },
    },
    says: "what it learned is damaged",
  },
])("$says", ({ document, says }) => {
  const text = typeof document === "string" ? document : JSON.stringify(document);
  expect(() => parseModel(text, "model.json")).toThrow(says);
});
