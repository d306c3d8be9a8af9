// The agent does not send the meanings: they never change.

export const figureMeanings = {
  "p99 now":
    "99th percentile of the bursts of the last 4 s; of the steps, where it is judged by these",
  "p99 alone": "the same while no best-effort work ran, as the policy has seen it",
  "slower by": "how much longer than alone they wait for the GPU (p99), as a part of the p99 alone",
  objective: "what run --slo or the grant asks for",
  "p50 now": "the median of the same as p99 now",
  waited: "99th percentile of the time that they waited for the GPU",
  bursts: "requests as the GPU sees them",
  steps: "what it repeats, such as a token of an LLM engine, where that is several bursts",
  active: "part of the last 4 s in which a burst ran",
  keeps:
    "part of the last 4 s in which its work waited neither for services nor for another's turn",
  runs: "GPU time finished, as a part of the last 4 s",
  held: "part of the last 4 s in which its work waited for services",
  turn: "part in which its work waited for another's turn",
  ahead: "queued-ahead work: GPU time released and not finished",
  "longest kernel": "since it attached",
  memory:
    "GPU memory: of a high client as the driver says it, of a best-effort one what it has allocated, and its quota",
} as const;

export type FigureLabel = keyof typeof figureMeanings;
