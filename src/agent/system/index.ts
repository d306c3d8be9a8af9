export { closeDescriptor, receiveWithDescriptor, sendWithDescriptor } from "./descriptors.ts";
export {
  createMemoryFile,
  endWithParent,
  mapShared,
  type Peer,
  peerOf,
  SIZE_SEALS,
  sealSize,
  sealsOf,
  tryLock,
} from "./libc.ts";
export { inodeOfMemoryFile, openMemoryFile } from "./memory-file.ts";
export {
  isAlive,
  nameOf,
  openFilesOf,
  pidNamespace,
  pidsOf,
  printable,
  readOrNothing,
  startTimeOf,
} from "./processes.ts";
