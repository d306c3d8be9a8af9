export { bench, type Outcome } from "./bench.ts";
export { collected } from "./colocations.ts";
export { type Demonstrated, demonstrate } from "./demo/demo.ts";
export { type Modelled, model, modelScenario } from "./model.ts";
export { chart, latest, markdownMatrix, markdownTable, parseResult } from "./report/index.ts";
export type { BenchResult } from "./result.ts";
export { jobNames, readScenario } from "./scenario.ts";
