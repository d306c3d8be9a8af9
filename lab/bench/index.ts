export { type BenchOptions, bench, type Outcome } from "./bench.ts";
export { collectSides } from "./colocations.ts";
export { compareLabels, type LabelResult } from "./labels.ts";
export { type Modelled, model, modelScenario } from "./model.ts";
export { Control } from "./processes/control.ts";
export { Places } from "./processes/places.ts";
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
export { table } from "./report/pipes.ts";
export { type Merged, merge, type Pair, type Row } from "./report/rows.ts";
export { type Arrangement, arrangementNamed } from "./scenario/arrangements.ts";
export type { BenchResult, Cell } from "./scenario/result.ts";
export { jobNames, readScenario } from "./scenario/scenario.ts";
