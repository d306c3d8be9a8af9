export { type Arrangement, arrangementNamed } from "./arrangements.ts";
export { collectSides } from "./colocations.ts";
export { type Demonstrated, demonstrate, type Outcome as DemoOutcome } from "./demo/demo.ts";
export { commitOf } from "./machine.ts";
export { type Modelled, model, modelScenario } from "./model.ts";
export { bench, type Outcome } from "./processes/bench.ts";
export { Control } from "./processes/control.ts";
export { Places } from "./processes/places.ts";
export { JobProcess } from "./processes/process.ts";
export {
  chart,
  latest,
  markdownMatrix,
  markdownSteps,
  markdownTable,
  parseResult,
  terminalMatrix,
  terminalTable,
} from "./report/index.ts";
export { FAINT, GREY, GROUND, INK, RAISED, SMALL } from "./report/ink.ts";
export { table } from "./report/pipes.ts";
export { type Merged, merge, type Pair, type Row } from "./report/rows.ts";
export { millis, percent, times, whole } from "./report/words.ts";
export type { BenchResult, Cell, Ratio } from "./result.ts";
export { jobNames, readScenario } from "./scenario.ts";
export { rate } from "./stats.ts";
export { parseMetric } from "./try/prometheus.ts";
export { parseReady } from "./try/ready.ts";
export { tryReport } from "./try/report.ts";
export { type TryResult, tryPair } from "./try/try.ts";
