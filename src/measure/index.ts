// Implements `try` and `demo`, and the measurement of windows: noise of the machine, figures with intervals, processes of jobs.
export { type Demonstrated, demonstrate, type Outcome as DemoOutcome } from "./demo/demo.ts";
export { demoVerdict } from "./demo/verdict.ts";
export { mean, meanRatio, type Pair, type Ratio, rate, slowdowns } from "./figures/stats.ts";
export { millis, percent, perSecond, times, whole } from "./figures/words.ts";
export { watchCpu } from "./noise/cpu.ts";
export { type CpuNoise, type Noise, noiseOf } from "./noise/noise.ts";
export { commitOf, type Machine, machineOf } from "./processes/machine.ts";
export { JobFailed, JobProcess } from "./processes/process.ts";
export { parseMetric } from "./try/prometheus.ts";
export { parseReady } from "./try/ready.ts";
export { tryReport } from "./try/report.ts";
export { type TryResult, tryPair } from "./try/try.ts";
