export type { About } from "./about.ts";
export { csvRows } from "./csv.ts";
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
export { kernelLookup, type LaunchedKernel } from "./lookup.ts";
export { type Measured, measure, type SystemWatch } from "./measure/measure.ts";
export { unsampled, withUtilisation } from "./merge.ts";
export { importNcu, type NcuAbout } from "./ncu.ts";
export {
  type LaunchNeeds,
  type Occupancy,
  occupancy,
  partsOfSm,
  SM_RESOURCES,
  smsNeeded,
  volume,
} from "./occupancy.ts";
export { ONE_PASS_CAPABILITY, onePassRuns } from "./one-pass.ts";
export { importOrion, readOrionFolder } from "./orion.ts";
export {
  importRecorded,
  importRecording,
  type Recorded,
  type RecordingAbout,
} from "./recording.ts";
export {
  checkGpu,
  type Fit,
  ProfileStore,
  profileFolder,
  readProfileFile,
  type Stored,
} from "./store.ts";
export { launchesOf, summaryOf } from "./summary.ts";
export { importTorch } from "./torch.ts";
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
