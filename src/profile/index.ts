export type { About } from "./importers/about.ts";
export { withoutSamples, withUtilisation } from "./importers/merge.ts";
export { importNcu, type NcuAbout } from "./importers/ncu.ts";
export { importOrion, readOrionFolder } from "./importers/orion.ts";
export { importTorch } from "./importers/torch.ts";
export { type Measured, measure, type SystemWatch } from "./measure/measure.ts";
export { ONE_PASS_CAPABILITY, onePassRuns } from "./measure/one-pass.ts";
export { formatProfile, parseProfile } from "./model/document.ts";
export {
  type Featured,
  type KaceFeatures,
  kaceFeatures,
  kaceNames,
  kacePair,
  type MuxflowFeatures,
  muxflowFeatures,
  muxflowInput,
} from "./model/features.ts";
export { type GpuDescription, gpuNamed, gpus, ridgePoint } from "./model/gpus.ts";
export {
  type LaunchNeeds,
  type Occupancy,
  occupancy,
  partsOfSm,
  SM_RESOURCES,
  smsNeeded,
  volume,
} from "./model/occupancy.ts";
export {
  checkGpu,
  type Fit,
  ProfileStore,
  profileFolder,
  readProfileFile,
  type Stored,
} from "./model/store.ts";
export { launchesOf, summaryOf } from "./model/summary.ts";
export type {
  CopyDirection,
  Dim3,
  KernelClass,
  KernelProfile,
  Mark,
  ProfiledGpu,
  Step,
  SystemMetrics,
  WorkloadKind,
  WorkloadProfile,
} from "./model/types.ts";
export { copyDirections, kernelClasses, marks, workloadKinds } from "./model/types.ts";
export {
  importRecorded,
  importRecording,
  type Recorded,
  type RecordingAbout,
} from "./recording/recording.ts";
