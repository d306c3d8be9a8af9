// Node answers a launch that can't be answered at once, or not for a process of that origin.
import { closeSync, fstatSync, readSync, writeSync } from "node:fs";
import { type Hello, type View, welcomeStatus } from "#protocol";
import { noSlot, type Reply } from "../gpus/registry.ts";
import {
  closeDescriptor,
  createMemoryFile,
  mountNamespaceOf,
  openMemoryFile,
} from "../system/index.ts";
import type { Identity } from "../tenants/index.ts";
import { encodeAnswer, type LaunchAnswer, type LaunchWords, parseLaunch } from "./message.ts";

export interface LaunchRequest extends LaunchWords {
  readonly pid: number;
  readonly ofOwnUser: boolean;
  readonly ask: (hello: View<typeof Hello>) => Pick<Reply, "status" | "reason">;
}

export type AnswerLaunch = (request: LaunchRequest) => LaunchAnswer | undefined;

/** The kernel takes no longer arguments and environment with the usual stack limit. */
const MAX_REQUEST_BYTES = 4 << 20;

const byNode: Reply = { ...noSlot, status: welcomeStatus.later, reason: "Ask Node." };

export function replyToLaunch(
  path: string | undefined,
  identity: Identity,
  {
    answer,
    ask,
  }: { readonly answer: AnswerLaunch | undefined; readonly ask: LaunchRequest["ask"] },
  use: (reply: Reply) => void,
): void {
  // A path of another mount namespace may lead to another file here.
  const isHere = mountNamespaceOf(identity.pid) === mountNamespaceOf("self");
  const words = answer && isHere && path ? readWords(path) : undefined;
  const { pid } = identity;
  const ofOwnUser = identity.uid === process.getuid?.();
  const answered = words && answer?.({ ...words, pid, ofOwnUser, ask });
  const file = answered && memoryFileOf(encodeAnswer(answered, words.env));
  use(file === undefined ? byNode : { ...noSlot, status: welcomeStatus.ok, files: [file] });
  if (file !== undefined) closeDescriptor(file);
}

function readWords(path: string): LaunchWords | undefined {
  const fd = openMemoryFile(path, "read");
  if (fd === undefined) return undefined;
  try {
    const { size } = fstatSync(fd);
    if (size > MAX_REQUEST_BYTES) return undefined;
    const bytes = new Uint8Array(size);
    return parseLaunch(bytes.subarray(0, readSync(fd, bytes, 0, size, 0)));
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

function memoryFileOf(bytes: Uint8Array): number | undefined {
  let fd: number | undefined;
  try {
    fd = createMemoryFile("cotenant-answer");
    writeSync(fd, bytes);
    return fd;
  } catch {
    if (fd !== undefined) closeDescriptor(fd);
    return undefined; // no descriptors or no memory are left: Node says so
  }
}
