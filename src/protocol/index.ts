export { emitFields, emitHeader } from "./emit.ts";
export { emitRules, ruleTable } from "./emit-rules.ts";
export {
  bucketCount,
  bucketMiddle,
  bucketOf,
  bucketStart,
  medianByTime,
  quantile,
} from "./histogram.ts";
export {
  BestEffortSlot,
  type ClientClass,
  caveats,
  classes,
  constants,
  Header,
  Hello,
  HighSlot,
  helloKinds,
  KernelEntry,
  KernelTable,
  kernelClasses,
  Movable,
  messageMagic,
  messageStructs,
  NewHold,
  parkStates,
  Region,
  Settings,
  sharedStructs,
  unmovable,
  VariantRequest,
  Welcome,
  welcomeStatus,
} from "./layout.ts";
export { severalRanks } from "./ranks.ts";
export { accepted, inRange, parseRule } from "./rule.ts";
export {
  graphGates,
  type RuleName,
  type Rules,
  ruleNames,
  rules,
  submission,
  usualRules,
  whenActive,
} from "./rules.ts";
export { extent, type Struct, type View, view, type Words } from "./struct.ts";
