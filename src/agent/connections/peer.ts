// Which process a Hello comes from. The kernel knows who connected a Unix socket; without its word any process could speak
// in the name of another, and take over or release the slot of that one.
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

/** Who the process is that claims to be this one; or what is wrong with the claim, for people. */
export type Identify = (socket: Socket, claim: Claim) => Identity | string;

export const identifyPeer: Identify = (socket, { pid, startTime }) => {
  const peer = peerOf(descriptorOf(socket));
  if (peer === undefined)
    return `Process ${pid} is in a PID namespace that the agent can't see: start the agent in the host's (hostPID: true, --pid=host).`;
  try {
    const identity = identified(peer, { pid, startTime });
    // Only after everything was read: until now its pid may have been given to another process.
    return hasEnded(socket) ? `Process ${peer.pid}, which had connected, has ended.` : identity;
  } catch (error) {
    return `The agent can't tell who process ${peer.pid} is: ${errors.whyOf(error)}.`;
  }
};

/** Whether the process that connected is no more. Kernels older than Linux 6.5 don't tell. */
function hasEnded(socket: Socket): boolean {
  const descriptor = peerDescriptorOf(descriptorOf(socket));
  if (typeof descriptor !== "number") return descriptor === "ended";
  try {
    return pidOfDescriptor(descriptor) === undefined;
  } finally {
    closeDescriptor(descriptor);
  }
}

function identified(peer: Peer, { pid, startTime }: Claim): Identity | string {
  // The last is the pid in the namespace that the process itself sees.
  if (peer.pid !== pid && pidsOf(peer.pid).at(-1) !== pid)
    return `The Hello of process ${pid} came from process ${peer.pid}: a client must speak for itself.`;
  const identity = identityOf(peer.pid, peer);
  return identity && isAlive(peer.pid, startTime)
    ? identity
    : `Process ${peer.pid} did not begin at tick ${startTime}: it is another one than the Hello names.`;
}

/** Node has no public name for it. -1, which is no descriptor, where the socket is closed already. */
export function descriptorOf(
  socket: Socket & { readonly _handle?: { readonly fd?: number } },
): number {
  return socket._handle?.fd ?? -1;
}
