export {
  createMemoryFile,
  endWithParent,
  mapShared,
  peerProcess,
  SIZE_SEALS,
  sealSize,
  sealsOf,
  tryLock,
} from "./libc.ts";
export { inodeOfMemoryFile, openMemoryFile } from "./memory-file.ts";
export { isAlive, nameOf, openFilesOf, printable, startTimeOf } from "./processes.ts";
