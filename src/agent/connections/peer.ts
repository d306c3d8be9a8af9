// The kernel knows which process connected a Unix socket. Without this check a process could name
// another one's pid, and take over or release its slot.
import type { Socket } from "node:net";
import { errors } from "#core";
import {
  closeDescriptor,
  isAlive,
  type Peer,
  peerDescriptorOf,
  peerOf,
  pidOfDescriptor,
  pidsOf,
} from "../system/index.ts";
import { type Identity, identityOf } from "../tenants/index.ts";

interface Claim {
  readonly pid: number;
  readonly startTime: number;
}

export type Identify = (socket: Socket, claim: Claim) => Identity | string;

export const identifyPeer: Identify = (socket, { pid, startTime }) => {
  const peer = peerOf(descriptorOf(socket));
  if (peer === undefined)
    return `Process ${pid} is in a PID namespace that the agent can't see: start the agent in the host's (hostPID: true, --pid=host).`;
  try {
    const identity = identify(peer, { pid, startTime });
    // If the process still lives now, nothing above was read from another process with its pid.
    return hasEnded(socket) ? `Process ${peer.pid}, which had connected, has ended.` : identity;
  } catch (error) {
    return `The agent can't tell who process ${peer.pid} is: ${errors.whyOf(error)}.`;
  }
};

/** Kernels older than Linux 6.5 do not report the end. */
function hasEnded(socket: Socket): boolean {
  const descriptor = peerDescriptorOf(descriptorOf(socket));
  if (typeof descriptor !== "number") return descriptor === "ended";
  try {
    return pidOfDescriptor(descriptor) === undefined;
  } finally {
    closeDescriptor(descriptor);
  }
}

function identify(peer: Peer, { pid, startTime }: Claim): Identity | string {
  // The last pid is the one in the innermost namespace, which the process itself sees.
  if (peer.pid !== pid && pidsOf(peer.pid).at(-1) !== pid)
    return `The Hello of process ${pid} came from process ${peer.pid}: a client must speak for itself.`;
  const identity = identityOf(peer.pid, peer);
  return identity && isAlive(peer.pid, startTime)
    ? identity
    : `Process ${peer.pid} did not begin at tick ${startTime}: it is another one than the Hello names.`;
}

/** Node has no public name for the descriptor. A closed socket gives -1. */
export function descriptorOf(
  socket: Socket & { readonly _handle?: { readonly fd?: number } },
): number {
  return socket._handle?.fd ?? -1;
}
