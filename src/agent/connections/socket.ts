// The agent's Unix stream socket. Each connection brings one Hello, gets one Welcome and then stays open in silence; its
// end tells that the client has ended. Shared memory is passed as descriptors with these two messages. Whatever else
// arrives is refused with a reason, and nothing that arrives can stop the agent.
import { chmodSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { type Clock, errors, ms } from "#core";
import { constants, helloKinds, messageMagic, view, Welcome } from "#protocol";
import { type Registry, type Reply, refusal } from "../registry.ts";
import type { Scope } from "../state.ts";
import { closeDescriptor, peerOf, sendWithDescriptor } from "../system/index.ts";
import { noVariantMaker, type VariantMaker } from "../variants/index.ts";
import { type Heard, hear } from "./hello.ts";
import { descriptorOf, type Identify, identifyPeer } from "./peer.ts";
import { WaitingRoom } from "./waiting-room.ts";

/** A connection that has not said its Hello by then is closed. */
const HELLO_WITHIN = ms(5000);
/** Connections without a slot: such that have not said their Hello, and such that wait for variants. */
const MOST_WITHOUT_SLOT = 64;
const LONGEST_SOCKET_PATH = 107;

export interface Door {
  close(): Promise<void>;
}

interface DoorOptions {
  /** Who may connect: all, or those whom the folder of the socket lets pass. */
  readonly scope?: Scope | undefined;
  readonly variants?: VariantMaker | undefined;
  readonly identify?: Identify | undefined;
}

/** Listens at `path`, which must be free. `changed` runs after each attach and hang-up. */
export async function openDoor(
  path: string,
  registry: Registry,
  clock: Clock,
  changed: () => void,
  { scope = "user", variants = noVariantMaker, identify = identifyPeer }: DoorOptions = {},
): Promise<Door> {
  if (Buffer.byteLength(path) > LONGEST_SOCKET_PATH) throw errors.pathTooLong(path);
  const open = new Set<Socket>();
  const withoutSlot = new WaitingRoom(MOST_WITHOUT_SLOT);
  const holders = new Map<Socket, Holder>();
  let closing = false;
  const attached = (socket: Socket, holder: Holder) => {
    withoutSlot.leave(socket);
    // Whose slot went to somebody else, such as the same process that attached again, is no client any more.
    for (const [other, { gpu, client }] of holders)
      if (gpu.at(client.class, client.slot) !== client) other.destroy();
    holders.set(socket, holder);
    changed();
  };
  const hungUp = (socket: Socket, holder: Holder) => {
    holders.delete(socket);
    if (closing) return; // it is we who hang up: the client goes on, and the next agent adopts it
    registry.hangUp(holder.gpu, holder.client);
    changed();
  };
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    withoutSlot.enter(socket, peerOf(descriptorOf(socket))?.uid);
    receive(socket, registry, clock, { attached, hungUp, variants, identify });
  });
  await listen(server, path);
  // Until now nobody else could connect, because of the umask.
  chmodSync(path, scope === "machine" ? 0o666 : 0o600);
  return {
    close: () =>
      new Promise((resolve) => {
        closing = true;
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

type Holder = NonNullable<Reply["holder"]>;

interface Listener {
  attached(socket: Socket, holder: Holder): void;
  hungUp(socket: Socket, holder: Holder): void;
  readonly variants: VariantMaker;
  readonly identify: Identify;
}

function receive(socket: Socket, registry: Registry, clock: Clock, listener: Listener): void {
  let answered = false;
  const impatience = clock.after(HELLO_WITHIN, () => socket.destroy());

  const answer = (reply: Reply) => {
    answered = true;
    if (socket.destroyed) return;
    const { holder } = reply;
    if (holder) socket.on("close", () => listener.hungUp(socket, holder));
    if (!send(socket, reply)) socket.destroy();
    // Closed whole once the answer is out: who keeps the other half open keeps no descriptor of ours.
    else if (!holder) socket.end(() => socket.destroy());
    if (holder) listener.attached(socket, holder);
  };

  const askForVariants = (path: string, pid: number) => {
    const asked = listener.variants.ask(path, pid);
    socket.on("close", asked.giveUp);
    return asked.answer.then(({ reply, done }) => {
      answer(reply);
      done();
    });
  };

  const judge = (heard: Heard) => {
    impatience();
    if ("error" in heard) return answer(refusal(heard.error));
    const { hello, descriptor } = heard;
    const close = () => void (descriptor !== undefined && closeDescriptor(descriptor));
    const path = descriptor === undefined ? undefined : `/proc/${process.pid}/fd/${descriptor}`;
    const identity = listener.identify(socket, hello);
    if (typeof identity === "string") {
      answer(refusal(identity));
      return close();
    }
    if (hello.kind !== helloKinds.variant) answer(registry.answer(hello, identity, path));
    else if (path) return void askForVariants(path, identity.pid).finally(close);
    else answer(refusal("A request for variants comes with a descriptor of its memory file."));
    close();
  };

  // A reset connection is a hang-up, and that is what "close" is for.
  socket.on("error", () => socket.destroy());
  socket.on("close", () => impatience());
  hear(socket, (heard) => {
    judge(heard);
    socket.on("data", () => socket.destroy()); // a client has nothing more to say
    socket.on("end", () => (answered ? socket.end() : socket.destroy()));
    socket.resume(); // from now on it is watched for its end
  });
}

/** False: it could not be sent. The socket's buffer is empty, and has room for a Welcome. */
function send(socket: Socket, reply: Reply): boolean {
  const bytes = encode(reply);
  if (reply.regionFd >= 0) return sendWithDescriptor(descriptorOf(socket), bytes, reply.regionFd);
  socket.write(bytes);
  return true;
}

function encode(reply: Reply): Uint8Array {
  const bytes = new ArrayBuffer(Welcome.size);
  const welcome = view(Welcome, bytes);
  welcome.magic = messageMagic;
  welcome.version = constants.VERSION;
  welcome.status = reply.status;
  welcome.slot = reply.slot;
  welcome.memoryQuota = reply.holder?.client.memoryQuota ?? 0;
  welcome.reason = reply.reason;
  return new Uint8Array(bytes);
}

const listen = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
