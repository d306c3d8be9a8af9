export { emitFields, emitHeader } from "./emit.ts";
export { bucketCount, bucketMiddle, bucketOf, bucketStart, quantile } from "./histogram.ts";
export {
  BestEffortSlot,
  type ClientClass,
  caveats,
  classes,
  constants,
  graphGates,
  Header,
  Hello,
  HighSlot,
  helloKinds,
  KernelEntry,
  KernelTable,
  kernelClasses,
  messageMagic,
  messageStructs,
  Region,
  Settings,
  sharedStructs,
  submission,
  VariantRequest,
  Welcome,
  welcomeStatus,
  whenActive,
} from "./layout.ts";
export { severalRanks } from "./ranks.ts";
export { extent, type Struct, type View, view, type Words } from "./struct.ts";
