// The clients' door: a Unix stream socket. Each connection says one Hello, gets one Welcome and then
// stays open in silence; its end is the client's death notice. Whatever else arrives is refused with a
// reason, and nothing that arrives can bring the agent down.
import { chmodSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { type Clock, errors, ms } from "#core";
import { constants, Hello, helloKinds, messageMagic, type View, view, Welcome } from "#protocol";
import { type FormMaker, noFormMaker } from "../forms/index.ts";
import { type Registry, type Reply, refusal } from "../registry.ts";
import { type Identify, identifyPeer } from "./peer.ts";
import { WaitingRoom } from "./waiting-room.ts";

/** A connection that has not said its Hello by then is closed. */
const HELLO_WITHIN = ms(5000);
/** What was made for a client that has not fetched it by then is closed. */
const FETCHED_WITHIN = ms(60_000);
/** Connections without a slot: such that have not said their Hello, and such that fetch what was made for them. */
const MOST_WITHOUT_SLOT = 64;
const LONGEST_SOCKET_PATH = 107;

export interface Door {
  close(): Promise<void>;
}

/** Listens at `path`, which must be free. `changed` runs after each attach and hang-up. */
export async function openDoor(
  path: string,
  registry: Registry,
  clock: Clock,
  changed: () => void,
  forms: FormMaker = noFormMaker,
  identify: Identify = identifyPeer,
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
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    withoutSlot.enter(socket);
    receive(socket, registry, clock, { attached, hungUp, forms, identify });
  });
  await listen(server, path);
  chmodSync(path, 0o600); // its directory has kept others out until now
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
  readonly forms: FormMaker;
  readonly identify: Identify;
}

function receive(socket: Socket, registry: Registry, clock: Clock, listener: Listener): void {
  let received = Buffer.alloc(0);
  let answered = false;
  let waits = false;
  let impatience = clock.after(HELLO_WITHIN, () => socket.destroy());

  const answer = (reply: Reply) => {
    answered = true;
    impatience();
    const bytes = encode(reply);
    const { holder } = reply;
    if (holder) {
      socket.on("close", () => listener.hungUp(socket, holder));
      socket.write(bytes);
      listener.attached(socket, holder);
    } else if (reply.regionFd >= 0) {
      // A descriptor of ours, which the client opens before it hangs up.
      impatience = clock.after(FETCHED_WITHIN, () => socket.destroy());
      socket.write(bytes);
    } else {
      // Closed whole once the answer is out: who keeps the other half open keeps no descriptor of ours.
      socket.end(bytes, () => socket.destroy());
    }
  };

  const hear = (hello: View<typeof Hello>) => {
    const error = listener.identify(socket, hello);
    if (error) return answer(refusal(error));
    if (hello.kind !== helloKinds.variant) {
      answer(registry.answer(hello));
      return;
    }
    waits = true;
    impatience(); // how long it may take is the maker's business
    const asked = listener.forms.ask(`/proc/${hello.pid}/fd/${hello.regionFd}`, hello.pid);
    socket.on("close", asked.giveUp);
    void asked.answer.then(({ reply, done }) => {
      if (socket.destroyed) return done();
      socket.on("close", done);
      answer(reply);
    });
  };

  socket.on("data", (chunk) => {
    if (answered || waits) {
      socket.destroy(); // a client has nothing more to say
      return;
    }
    received = Buffer.concat([received, chunk]);
    if (received.length < 8) return;
    const error = errorIn(received);
    if (error) answer(refusal(error));
    else if (received.length === Hello.size) hear(view(Hello, Uint8Array.from(received).buffer));
  });
  socket.on("end", () => {
    if (answered) socket.end();
    else if (waits) socket.destroy();
    else answer(refusal(`A Hello has ${Hello.size} bytes, not ${received.length}.`));
  });
  // A reset connection is a hang-up, and that is what "close" is for.
  socket.on("error", () => socket.destroy());
  socket.on("close", () => impatience());
}

/** What the first bytes show already: a client of another version says Hellos of another size. */
function errorIn(received: Buffer): string | undefined {
  if (received.readUInt32LE(0) !== messageMagic) return "That is not a Hello: its magic is wrong.";
  const version = received.readUInt32LE(4);
  if (version !== constants.VERSION)
    return `This agent speaks version ${constants.VERSION}, not ${version}: restart the older of the two.`;
  if (received.length > Hello.size)
    return `A Hello has ${Hello.size} bytes, not ${received.length}.`;
  return undefined;
}

function encode(reply: Reply): Uint8Array {
  const bytes = new ArrayBuffer(Welcome.size);
  const welcome = view(Welcome, bytes);
  welcome.magic = messageMagic;
  welcome.version = constants.VERSION;
  welcome.status = reply.status;
  welcome.slot = reply.slot;
  welcome.agentPid = process.pid;
  welcome.regionFd = reply.regionFd;
  welcome.reason = reply.reason;
  return new Uint8Array(bytes);
}

const listen = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
