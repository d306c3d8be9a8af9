export { type Agent, startAgent } from "./agent.ts";
export { STARTED_WITHIN_MS, startInBackground } from "./background.ts";
export { keepBuild } from "./builds/builds.ts";
export { descriptorOf, type Identify } from "./connections/peer.ts";
export { openListener } from "./connections/socket.ts";
export { type Launch, noteLaunch } from "./directory/launches.ts";
export {
  type AgentFile,
  checkDirectory,
  claimDirectory,
  type GpuKind,
  isAgentFileDamaged,
  isLocked,
  isRunning,
  isTrusted,
  lockDirectory,
  type Mode,
  pathsIn,
  readAgentFile,
  runningAgent,
  runningService,
  type Scope,
  type Service,
  writeAgentFile,
} from "./directory/state.ts";
export { isCalled } from "./gpus/called.ts";
export { type Applicant, defaultApplicant, ServedGpu } from "./gpus/gpu.ts";
export {
  common,
  formatUuid,
  type Part,
  placeOf,
  REGION_LINK,
  SharedRegion,
} from "./gpus/region.ts";
export { Registry } from "./gpus/registry.ts";
export { History } from "./history/history.ts";
export { type Burst, WorstBursts } from "./history/worst-bursts.ts";
export { checkCpus, openHostGuard, parseHostLimits } from "./host/index.ts";
export type { AnswerLaunch, LaunchRequest } from "./launches/launching.ts";
export { encodeAnswer, type LaunchAnswer } from "./launches/message.ts";
export {
  formatEntry,
  type Log,
  type LogEntry,
  type LogFormat,
  logFormats,
  logLine,
  parseEntry,
} from "./log/log.ts";
export { appendToLog, asideOf, isStderr } from "./log/log-file.ts";
export type {
  MovableMemory,
  ParkCommand,
  Quantum,
  SentCommand,
} from "./memory/index.ts";
export { metrics } from "./metrics/metrics.ts";
export { metricsTable, renderMetrics } from "./metrics/metrics-text.ts";
export {
  type DriverFacts,
  driverFacts,
  driverVersion,
  type Gpm,
  type GpmSample,
  type GpuFacts,
  mpsEnvironment,
  openGpm,
  openNvml,
  startMps,
  startSoftMps,
} from "./nvidia/index.ts";
export type { ObjectiveChange } from "./objectives.ts";
export type { AgentOptions } from "./options.ts";
export { Endpoint, parseMetricsUrl } from "./requests/endpoint.ts";
export { askEveryNs } from "./requests/interval.ts";
export { judge, MAX_EACH } from "./requests/judge.ts";
export { type Certainties, whyNotMeasurable, withCertainty } from "./requests/measurable.ts";
export type { GpuReading, Sensor } from "./sensors/sensor.ts";
export { openSoftGpus, SOFT_GPU_NAME } from "./sensors/softgpu.ts";
export type { AskedShare } from "./shares/asked-shares.ts";
export {
  type AsOne,
  type GpuOfJobs,
  type Job,
  type Jobs,
  jobsOf,
  pidText,
  ranksText,
  sizeText,
  spansGpus,
} from "./status/jobs.ts";
export { objectiveIn } from "./status/stated.ts";
export type { BestEffortStatus, GpuStatus, HighStatus, Status } from "./status/status.ts";
export { type BurstRecord, BurstRing } from "./steps/burst-ring.ts";
export { recognise } from "./steps/recognise.ts";
export {
  createMemoryFile,
  MappedRange,
  openFilesOf,
  pidNamespace,
  printable,
  receiveWithDescriptors,
  sealSize,
  sendWithDescriptors,
  startTimeOf,
  userNames,
} from "./system/index.ts";
export { watchSystem } from "./system-watch.ts";
export {
  admissionByFile,
  admitAll,
  describeIdentity,
  describeUser,
  type Identity,
  identityOf,
  withUserName,
} from "./tenants/index.ts";
export type { UntrackedProcess } from "./untracked/index.ts";
export {
  assemblersIn,
  makeVariants,
  noVariantStore,
  serveVariants,
  type VariantLimits,
  type VariantMaker,
  VariantQueue,
  variantLimits,
} from "./variants/index.ts";
export { Watch } from "./watch/watch.ts";
export type { Explanation } from "./why.ts";
export { gpuSentence } from "./words/gpu-sentence.ts";
export {
  describeGpu,
  gpuMemoryText,
  sentencesAbout,
  sentencesOn,
  stateInWords,
} from "./words/sentences.ts";
export type { SlowBurst } from "./words/slow-bursts.ts";
export { unitFigures } from "./words/unit-figures.ts";
