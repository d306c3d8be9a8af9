// The scenario of `cotenant-lab simulate` without a file.
export const exampleScenario = {
  about:
    "Invented workloads and jobs: three services with daily load on 200 GPUs, 1,500 training jobs.",
  hours: 24,
  gpus: [{ type: "GPU", count: 200, memoryGB: 24 }],
  memoryQuota: 0.5,
  services: [
    {
      workload: "recommendation",
      gpus: 80,
      cv: 0.5,
      load: { low: 0.1, high: 0.4, peakHour: 20, burstsPerDay: 2, spread: 0.15 },
    },
    {
      workload: "translation",
      gpus: 60,
      cv: 0.5,
      load: { low: 0.08, high: 0.35, peakHour: 15, burstsPerDay: 2, spread: 0.15 },
    },
    {
      workload: "image-tagging",
      gpus: 60,
      cv: 0.5,
      load: { low: 0.1, high: 0.35, peakHour: 21, burstsPerDay: 2, spread: 0.15 },
    },
  ],
  jobs: {
    workloads: ["resnet-train", "vgg-train", "densenet-train", "small-train"],
    count: 1500,
    medianMinutes: 25,
    spread: 1.5,
    longestHours: 8,
    withinHours: 14,
  },
  faults: { perGpuDay: 0.02, repairMinutes: 60 },
  seeds: 1,
  schedulers: [
    "online-only",
    "time-sharing",
    "priority-time-sharing",
    "kace-greedy",
    "muxflow-s-m",
    "muxflow",
    "cotenant",
  ],
};
