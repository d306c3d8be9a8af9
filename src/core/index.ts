export { type Address, parseAddress, showAddress } from "./address.ts";
export { type Clock, dateNow, systemClock, wallNow } from "./clock.ts";
export { type CsvRow, csvRows } from "./csv.ts";
export { type Colour, colourVariables, pageColours } from "./drawing/colours.ts";
export { type Attributes, element, type Markup, short, words, written } from "./drawing/markup.ts";
export * as errors from "./errors.ts";
export { UserError, usage } from "./errors.ts";
export { Field, type Refusal, readJson, withPlace } from "./fields.ts";
export {
  checkWritable,
  isFile,
  isReadable,
  readGiven,
  temporaryFolder,
  tryWrite,
  writeGiven,
} from "./files.ts";
export { readInput } from "./input.ts";
export { inMessage } from "./json.ts";
export { kept } from "./kept.ts";
export { similar } from "./names/similar.ts";
export {
  type AssemblerStandIn,
  assemblerStandIns,
  cotenantProgram,
  gateLibrary,
  interposer,
  itself,
  laboratoryProgram,
  ncclLibrary,
  orShipped,
  packageRoot,
  packageVersion,
  softGpuFolder,
  tritonVariable,
} from "./package.ts";
export { runDirectory, SYSTEM_DIRECTORY, SYSTEM_GRANTS } from "./paths.ts";
export {
  type Cumulative,
  type Histogram,
  type HistogramSeries,
  prometheusLabels,
  prometheusUnitMs,
  readHistograms,
  readTotal,
  sumOfSeries,
  valuesSince,
} from "./prometheus.ts";
export {
  conformalQuantile,
  medianBySum,
  quantile,
  quantileOfSorted,
  upperQuantileOfSorted,
} from "./quantile.ts";
export {
  gammas,
  minimalStandard,
  mulberry32,
  normals,
  type Random,
  sfc32,
  shuffle,
} from "./random.ts";
export { type Paint, paintFor, plain, type Style } from "./terminal/paint.ts";
export { gibibytes, micros, percent, table, wrap } from "./terminal/print.ts";
export { leftOf, type Progress, progressOf } from "./terminal/progress.ts";
export { type Column, fitTable } from "./terminal/table.ts";
export { displayWidth, padEnd, padStart, truncate } from "./terminal/width.ts";
export {
  type Bytes,
  type Micros,
  type Millis,
  millis,
  millisOf,
  ms,
  type Nanos,
  nanos,
  parseBytes,
  parseDuration,
  parseSince,
  us,
  type WallMillis,
  wallMillis,
} from "./units.ts";
