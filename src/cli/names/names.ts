// A program that only needs the names does not load the table.

export const commandNames = [
  "up",
  "run",
  "status",
  "top",
  "dashboard",
  "why",
  "events",
  "logs",
  "objective",
  "park",
  "resume",
  "move",
  "evict",
  "down",
  "doctor",
  "demo",
  "load",
  "load-llm",
  "try",
  "profile",
  "cluster",
  "cdi",
  "completion",
] as const;

export const laboratoryCommands: readonly string[] = [
  "bench",
  "model",
  "model-llm",
  "predict",
  "simulate",
  "soc",
  "ptx",
];
