// Processes on a GPU that hold no slot here. Some are clients of another agent, of another run directory: then neither agent
// knows of the other's requests, and what either promises is void.
import { closeSync, readSync } from "node:fs";
import { Header, view } from "#protocol";
import { REGION_LINK } from "../region.ts";
import type { GpuReading } from "../sensor.ts";
import { nameOf, openFilesOf, openMemoryFile, startTimeOf } from "../system/index.ts";
import { type Identity, identityOf } from "./identity.ts";

export interface Stranger {
  readonly pid: number;
  readonly name: string;
  readonly memory: number;
  /** The other agent that it is a client of; undefined where that is not so, or not to be seen. */
  readonly agentPid: number | undefined;
  /** undefined: it has ended. */
  readonly identity: Identity | undefined;
}

/** Under MPS its server holds the clients' contexts; it is nobody's job. */
const MPS_SERVER = "nvidia-cuda-mps";

/** `known`: the pids of those who hold a slot on any GPU. */
export const strangersOn = (
  reading: Pick<GpuReading, "processes"> | undefined,
  known: ReadonlySet<number>,
  ownPid: number,
): readonly Stranger[] =>
  (reading?.processes ?? [])
    .filter(({ pid }) => !known.has(pid))
    .map(({ pid, memory }) => ({
      pid,
      name: nameOf(pid),
      memory,
      agentPid: agentsOf(pid).find((agent) => agent !== ownPid),
      identity: identityOf(pid),
    }))
    .filter(({ name }) => !name.startsWith(MPS_SERVER));

/** Living agents whose memory a process has open. */
const agentsOf = (pid: number): readonly number[] =>
  openFilesOf(pid, REGION_LINK)
    .flatMap((path) => agentServing(path) ?? [])
    .filter(isThere);

function agentServing(path: string): number | undefined {
  const fd = openMemoryFile(path, "read");
  if (fd === undefined) return undefined;
  try {
    const bytes = new ArrayBuffer(Header.size);
    const whole = readSync(fd, new Uint8Array(bytes), 0, Header.size, 0) === Header.size;
    return whole ? view(Header, bytes).agentPid : undefined;
  } finally {
    closeSync(fd);
  }
}

function isThere(pid: number): boolean {
  try {
    return startTimeOf(pid) !== undefined;
  } catch {
    return false;
  }
}
