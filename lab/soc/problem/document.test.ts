import { expect, test } from "vitest";
import { parseProblem } from "./document.ts";

const group = { name: "g", timeMs: { gpu: 1, dla: 2 }, demand: { gpu: 50 } };
const file = {
  version: 1,
  memory: { limit: 100, unit: "%" },
  accelerators: [{ name: "gpu" }, { name: "dla", demandFrom: "gpu" }],
  networks: [{ name: "net", groups: [group] }],
};
const parse = (value: unknown) => parseProblem(JSON.stringify(value), "a.json");
const withGroup = (change: object) => ({
  ...file,
  networks: [{ name: "net", groups: [{ ...group, ...change }] }],
});

test("a field that is left out has its default", () => {
  expect(parse(file)).toMatchObject({
    objective: "latency",
    maxTransitions: 4,
    overlapMs: 0,
    energyBudgetMj: Number.POSITIVE_INFINITY,
    networks: [
      {
        name: "net",
        after: [],
        groups: [{ timeMs: [1, 2], demand: [50, 25], outMs: [0, 0], inputs: [] }],
      },
    ],
  });
});

test("a black box's demand follows from the controller's utilisation, where that was measured", () => {
  const [network] = parse(withGroup({ emc: { gpu: 80, dla: 32 } })).networks;
  expect(network?.groups[0]?.demand).toEqual([50, 20]);
});

test("a group reads the one before it, or those that it names; a network can copy another", () => {
  const groups = ["a", "b", "c"].map((name) => ({ ...group, name }));
  const { networks } = parse({
    ...file,
    networks: [
      { name: "one", groups: [...groups.slice(0, 2), { ...groups[2], inputs: ["a", "b"] }] },
      { name: "two", like: "one", after: ["one"] },
    ],
  });
  expect(networks.map(({ groups }) => groups.map(({ inputs }) => inputs))).toEqual([
    [[], [0], [0, 1]],
    [[], [0], [0, 1]],
  ]);
  expect(networks[1]?.after).toEqual([0]);
});

const here = "a.json, line 1, networks[0].groups[0].";
test.each([
  ["a missing time", withGroup({ timeMs: { gpu: 1 } }), `${here}timeMs.dla: is missing.`],
  [
    "an unknown accelerator",
    withGroup({ timeMs: { gpu: 1, dla: 1, npu: 1 } }),
    `${here}timeMs.npu: is for no accelerator here.`,
  ],
  [
    "a negative demand",
    withGroup({ demand: { gpu: -1 } }),
    `${here}demand.gpu: is -1, not a number of 0 or more.`,
  ],
  [
    "an infinite demand",
    withGroup({ demand: { gpu: "Infinity" } }),
    `${here}demand.gpu: is "Infinity", not a number of 0 or more.`,
  ],
  ["a missing demand", withGroup({ demand: {} }), `${here}demand.gpu: is missing.`],
  [
    "more demand than memory",
    withGroup({ demand: { gpu: 120 } }),
    `${here}demand.gpu: is 120 on gpu, more than the memory's limit of 100.`,
  ],
  [
    "a group nobody can run",
    withGroup({ timeMs: { gpu: null, dla: null } }),
    `${here}timeMs: no accelerator can run it.`,
  ],
  [
    "an input from nowhere",
    withGroup({ inputs: ["z"] }),
    `${here}inputs[0]: is "z", which is no group before it in the network.`,
  ],
  ["a stray field", withGroup({ tiem: 1 }), `${here}tiem: does not belong there.`],
  [
    "no network",
    { ...file, networks: [] },
    "a.json, line 1, networks: is empty: there must be at least one network.",
  ],
  [
    "an unknown objective",
    { ...file, objective: "fast" },
    'a.json, line 1, objective: is "fast", not one of latency, throughput.',
  ],
  [
    "a transition in words",
    { ...file, transitions: "few" },
    'a.json, line 1, transitions: is "few", not a whole number or "unlimited".',
  ],
  [
    "a demand from nowhere",
    { ...file, accelerators: [{ name: "gpu" }, { name: "dla", demandFrom: "npu" }] },
    'a.json, line 1, accelerators[1].demandFrom: is "npu", which is no accelerator here.',
  ],
  [
    "half a transition",
    { ...file, transitions: 0.5 },
    "a.json, line 1, transitions: is 0.5, not a whole number of 0 or more.",
  ],
  [
    "two of one name",
    { ...file, networks: [...file.networks, ...file.networks] },
    'a.json, line 1, networks: has two networks called "net".',
  ],
  [
    "a circle",
    {
      ...file,
      networks: [
        { name: "a", groups: [group], after: ["b"] },
        { name: "b", like: "a", after: ["a"] },
      ],
    },
    "a.json, line 1, networks[0].after: makes it wait for itself: a, b come after each other in a circle.",
  ],
  [
    "a slowdown that falls",
    {
      ...file,
      accelerators: [
        { name: "gpu", slowdown: { own: [1], others: [0, 1, 2], factor: [[1, 2, 1]] } },
        { name: "dla" },
      ],
    },
    "a.json, line 1, accelerators[0].slowdown: factor must be 1 without others and never fall when a demand grows.",
  ],
])("%s is reported", (_, value, message) => {
  expect(() => parse(value)).toThrow(message);
});

test("a number too large for a double is reported as infinite", () => {
  const text = JSON.stringify(withGroup({ demand: { gpu: 7777 } })).replace("7777", "1e999");
  expect(() => parseProblem(text, "a.json")).toThrow(
    `${here}demand.gpu: is Infinity, not a number of 0 or more.`,
  );
});

test("text that is not JSON is reported", () => {
  expect(() => parseProblem("{", "a.json")).toThrow(
    "a.json, line 1: it ends early: was it cut short?",
  );
});
