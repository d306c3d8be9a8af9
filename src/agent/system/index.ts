export { closeDescriptor, receiveWithDescriptors, sendWithDescriptors } from "./descriptors.ts";
export {
  createMemoryFile,
  endWithParent,
  hasHungUp,
  limitUnread,
  MappedRange,
  type Peer,
  peerDescriptorOf,
  peerOf,
  SIZE_SEALS,
  sealSize,
  sealsOf,
  sealWrites,
  tryLock,
} from "./libc.ts";
export { openMemoryFile } from "./memory-file.ts";
export {
  commandOf,
  environmentOf,
  hasPid,
  isAlive,
  isDescendant,
  isStopped,
  lineageOf,
  mountNamespaceOf,
  nameOf,
  networkNamespaceOf,
  openFilesOf,
  type Process,
  pidNamespace,
  pidOfDescriptor,
  pidsOf,
  printable,
  readOrNothing,
  startTimeOf,
} from "./processes.ts";
export { UserNames, userNames } from "./user-names.ts";
