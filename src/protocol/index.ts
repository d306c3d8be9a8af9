export {
  type BlockFields,
  type BlockInput,
  type BlockOutput,
  blockInput,
  blockOutput,
  lengthOf,
} from "./block.ts";
export { emitFields, emitHeader } from "./emit.ts";
export { emitGate } from "./emit-gate.ts";
export { emitRules, ruleTable } from "./emit-rules.ts";
export {
  answers,
  gateChunk,
  gateItem,
  gateView,
  holdAction,
  LOOK_STATE,
  lookInput,
  lookOutput,
  nextLook,
  turnAction,
} from "./gate.ts";
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
export { rankIn, severalRanks, whyNoGang } from "./ranks.ts";
export { accepted, inRange, parseRule } from "./rule.ts";
export {
  graphGates,
  oldRuleNames,
  type RuleName,
  type Rules,
  ruleNames,
  rules,
  submission,
  usualRules,
  whenActive,
} from "./rules.ts";
export { extent, type Struct, type View, view, type Words } from "./struct.ts";
