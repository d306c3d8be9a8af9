// Whether a Hello comes from the process that it names. The kernel knows who connected a Unix socket; without its word
// any process could speak in the name of another, and take over or release the slot of that one.
import type { Socket } from "node:net";
import { isAlive, peerProcess } from "../system/index.ts";

/** What is wrong with the claim to be that process, for people; undefined when nothing is. */
export type Identify = (
  socket: Socket,
  claimed: { readonly pid: number; readonly startTime: number },
) => string | undefined;

export const identifyPeer: Identify = (socket, { pid, startTime }) => {
  const peer = peerProcess(descriptorOf(socket));
  if (peer === undefined)
    return `Process ${pid} is not to be seen from here: containers that share a GPU through Cotenant must share their PID namespace.`;
  if (peer !== pid)
    return `The Hello of process ${pid} came from process ${peer}: a client must speak for itself.`;
  return isAlive(pid, startTime)
    ? undefined
    : `Process ${pid} did not begin at tick ${startTime}: it is another one than the Hello names.`;
};

/** Node has no public name for it. -1, which is no descriptor, where the socket is closed already. */
function descriptorOf(socket: Socket & { readonly _handle?: { readonly fd?: number } }): number {
  return socket._handle?.fd ?? -1;
}
