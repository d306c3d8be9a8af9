// Which process a Hello comes from. The kernel knows who connected a Unix socket; without its word any process could speak
// in the name of another, and take over or release the slot of that one.
import type { Socket } from "node:net";
import { isAlive, peerProcess, pidsOf } from "../system/index.ts";

interface Claim {
  readonly pid: number;
  readonly startTime: number;
}

/** The pid of the process, as seen from here, that claims to be this one; or what is wrong with the claim, for people. */
export type Identify = (socket: Socket, claim: Claim) => { readonly pid: number } | string;

export const identifyPeer: Identify = (socket, { pid, startTime }) => {
  const peer = peerProcess(descriptorOf(socket));
  if (peer === undefined)
    return `Process ${pid} is in a PID namespace that the agent can't see: start the agent in the host's (hostPID: true, --pid=host).`;
  // The last is the pid in the namespace that the process itself sees.
  if (peer !== pid && pidsOf(peer).at(-1) !== pid)
    return `The Hello of process ${pid} came from process ${peer}: a client must speak for itself.`;
  return isAlive(peer, startTime)
    ? { pid: peer }
    : `Process ${peer} did not begin at tick ${startTime}: it is another one than the Hello names.`;
};

/** Node has no public name for it. -1, which is no descriptor, where the socket is closed already. */
export function descriptorOf(
  socket: Socket & { readonly _handle?: { readonly fd?: number } },
): number {
  return socket._handle?.fd ?? -1;
}
