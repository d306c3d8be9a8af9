// The agent's data of one GPU with a service that misses its objective, a training with wide characters in its name,
// and an untracked process.
import type {
  ClientView,
  Figure,
  FigureLabel,
  GpuView,
  Series,
  Snapshot,
  TimelineView,
  WorstView,
} from "#dashboard";

const figure = (label: FigureLabel, value: string, amount: number | undefined): Figure => ({
  label,
  value,
  amount,
});

const at = Date.parse("2030-01-02T03:04:05Z");

export const missed = (change: Partial<ClientView> = {}): ClientView => ({
  id: "high 0 42",
  name: "serve",
  class: "high",
  pid: 42,
  size: "",
  processes: [],
  command: "python serve.py",
  owner: "uid 1000, container 0123456789ab",
  uid: 1000,
  user: undefined,
  place: "container 0123456789ab",
  standing: "missed",
  badge: "objective: missed",
  says: "serve is 56 % slower than solo, objective 10 %: missed",
  problem: { cause: "900 us was queued ahead", remedy: "shorter chunks" },
  figures: [
    figure("p99 now", "4.00 ms", 4000),
    figure("p99 alone", "2.50 ms", 2500),
    figure("slower by", "56 %", 0.56),
    figure("objective", "10 %", 0.1),
    figure("waited", "2.90 ms", 2900),
  ],
  notes: ["serve (pid 42) takes turns"],
  lastEvent: { time: new Date(at).toISOString(), event: "attached", facts: "pid 42" },
  ...change,
});

export const training = (change: Partial<ClientView> = {}): ClientView => ({
  ...missed({ lastEvent: undefined, problem: undefined, notes: [] }),
  id: "best-effort 0 43",
  name: "模型训练",
  class: "best-effort",
  pid: 43,
  command: "python train.py --epochs 90 --data /datasets/a/very/long/path/that/goes/on/and/on",
  standing: "met",
  badge: "",
  says: "",
  figures: [
    figure("keeps", "74 %", 0.74),
    figure("runs", "68 %", 0.68),
    figure("held", "9.0 %", 0.09),
    figure("memory", "1 MiB of 20.0 GiB", 2 ** 20),
  ],
  ...change,
});

const series = (period: number, count: number): Series => ({
  first: 1000,
  from: at - count * period,
  period,
  service: Array.from({ length: count }, () => 0.25),
  bestEffort: Array.from({ length: count }, () => 0.5),
  held: Array.from({ length: count }, () => 0.125),
});

export const gpuOf = (clients: readonly ClientView[], change: Partial<GpuView> = {}): GpuView => ({
  uuid: "GPU-a",
  name: "Fake GPU",
  facts: "20.0 GiB of 80.0 GiB used, 75 % busy",
  sentence: "serve is 56 % slower than solo, objective 10 %: missed; 模型训练 retains 74 %.",
  standing: clients.some(({ standing }) => standing === "missed") ? "missed" : "met",
  advice: ["mode mps would suit these clients better"],
  clients,
  parts: [],
  strangers: [],
  latest: undefined,
  recovered: { text: "1.50 GPU-hours", since: at },
  ...change,
});

export const exampleSnapshot = (
  gpus: readonly GpuView[] = [gpuOf([missed(), training()])],
): Snapshot => ({
  at,
  pid: 7,
  agent: "Agent 7: mode isolated, policy cotenant",
  launched: [],
  jobs: [],
  gpus,
  events: Array.from({ length: 20 }, (_, i) => ({
    time: new Date(at - (20 - i) * 1000).toISOString(),
    event: `event-${i}`,
    facts: "gpu GPU-a",
  })),
});

export const exampleTimeline: TimelineView = {
  uuid: "GPU-a",
  second: series(1000, 100),
  minute: series(60_000, 30),
};

export const exampleWorst: WorstView = {
  uuid: "GPU-a",
  client: "high 0 42",
  name: "serve",
  bursts: [
    {
      at,
      lasted: "16.8 ms",
      waited: "16.7 ms",
      cause: "900 us of 模型训练 was queued ahead",
      remedy: "shorter chunks",
    },
  ],
};
