export { formatProfile, parseProfile } from "./document.ts";
export {
  type Featured,
  type KaceFeatures,
  kaceFeatures,
  kaceNames,
  kacePair,
  type MuxflowFeatures,
  muxflowFeatures,
  muxflowInput,
} from "./features.ts";
export { type GpuDescription, gpuNamed, gpus, ridgePoint } from "./gpus.ts";
export type { About } from "./importers/about.ts";
export { withoutSamples, withUtilisation } from "./importers/merge.ts";
export { importNcu, type NcuAbout } from "./importers/ncu.ts";
export { importOrion, readOrionFolder } from "./importers/orion.ts";
export { importTorch } from "./importers/torch.ts";
export { type Measured, measure, type SystemWatch } from "./measure/measure.ts";
export { ONE_PASS_CAPABILITY, onePassRuns } from "./measure/one-pass.ts";
export {
  type LaunchNeeds,
  type Occupancy,
  occupancy,
  partsOfSm,
  SM_RESOURCES,
  smsNeeded,
  volume,
} from "./occupancy.ts";
export {
  importRecorded,
  importRecording,
  type Recorded,
  type RecordingAbout,
} from "./recording/recording.ts";
export {
  checkGpu,
  type Fit,
  ProfileStore,
  profileFolder,
  readProfileFile,
  type Stored,
} from "./store.ts";
export { launchesOf, summaryOf } from "./summary.ts";
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
} from "./types.ts";
export { copyDirections, kernelClasses, marks, workloadKinds } from "./types.ts";
