// Each connection brings one Hello, gets one Welcome and then stays open and silent; when it
// closes, the client has ended. Shared memory is passed as descriptors with these messages. A high
// client is also sent the control pages of later best-effort clients.
import { chmodSync, renameSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { type Clock, errors, ms } from "#core";
import {
  constants,
  type Hello,
  helloKinds,
  messageMagic,
  NewHold,
  type View,
  view,
  Welcome,
} from "#protocol";
import { fileIdentity, type Scope } from "../directory/state.ts";
import type { Client } from "../gpus/gpu.ts";
import { holdsFor, later, type Registry, type Reply, refusal } from "../gpus/registry.ts";
import { type AnswerLaunch, replyToLaunch } from "../launches/launching.ts";
import { Reporters } from "../reporters/reporters.ts";
import {
  closeDescriptor,
  hasHungUp,
  limitUnread,
  peerOf,
  sendWithDescriptors,
} from "../system/index.ts";
import type { Identity } from "../tenants/index.ts";
import { noVariantMaker, type VariantMaker } from "../variants/index.ts";
import { hear, type Received } from "./hello.ts";
import { newestFirst } from "./newest-first.ts";
import { descriptorOf, type Identify, identifyPeer } from "./peer.ts";
import { reporting } from "./reporting.ts";
import { WaitingRoom } from "./waiting-room.ts";

const HELLO_WITHIN = ms(5000);
const MAX_WITHOUT_SLOT = 64;
const LONGEST_SOCKET_PATH = 107;
/** A high client maps a new control page within 10 ms, unless it is stopped. */
const MAPPED_WITHIN = ms(250);
const LOOK_EVERY = ms(1);
/** Bytes. An unread message holds a file and descriptors, which the kernel limits for each user. */
const MAX_UNREAD = 8192;

export interface Door {
  /** Listens again where somebody has removed the socket; rejects where that fails. */
  look(): Promise<void>;
  close(): Promise<void>;
}

interface DoorOptions {
  readonly scope?: Scope | undefined;
  readonly variants?: VariantMaker | undefined;
  readonly identify?: Identify | undefined;
  readonly reporters?: Reporters | undefined;
  readonly answerLaunch?: AnswerLaunch | undefined;
}

/** `path` must be free. `changed` runs after each attach and hang-up. */
export async function openListener(
  path: string,
  registry: Registry,
  clock: Clock,
  changed: () => void,
  {
    scope = "user",
    variants = noVariantMaker,
    identify = identifyPeer,
    reporters = new Reporters(),
    answerLaunch,
  }: DoorOptions = {},
): Promise<Door> {
  if (Buffer.byteLength(path) > LONGEST_SOCKET_PATH) throw errors.pathTooLong(path);
  const open = new Set<Socket>();
  const withoutSlot = new WaitingRoom(MAX_WITHOUT_SLOT, sendAway);
  const holders = new Map<Socket, Holder>();
  let closing = false;
  const attached = (socket: Socket, holder: Holder) => {
    withoutSlot.leave(socket);
    // The slot of such a client was given away, for example to the same process that attached
    // again.
    for (const [other, { gpu, client }] of holders)
      if (gpu.at(client.class, client.slot) !== client) other.destroy();
    holders.set(socket, holder);
    changed();
  };
  const introduce = (holder: Holder, done: () => void) =>
    introduceTo(holders, holder, clock, (missing) => {
      for (const high of missing) registry.noteUnheld(holder.gpu, holder.client, high);
      done();
    });
  const hungUp = (socket: Socket, holder: Holder) => {
    holders.delete(socket);
    if (closing) return; // the agent itself hangs up; the client goes on, and the next agent takes it over
    registry.hangUp(holder.gpu, holder.client);
    changed();
  };
  const answerReport = reporting(registry, reporters);
  const report: Listener["report"] = (socket, hello, identity) => {
    const reply = answerReport(socket, hello, identity);
    if (reply.stays) withoutSlot.leave(socket);
    return reply;
  };
  const listener = { attached, introduce, hungUp, report, variants, identify, answerLaunch };
  const serve = newestFirst<Socket>((socket) => {
    if (hasHungUp(descriptorOf(socket))) socket.destroy();
    else receive(socket, registry, clock, listener);
  });
  const connected = (socket: Socket) => {
    if (hasHungUp(descriptorOf(socket))) return void socket.destroy();
    open.add(socket);
    limitUnread(descriptorOf(socket), MAX_UNREAD);
    socket.on("close", () => open.delete(socket));
    withoutSlot.enter(socket, peerOf(descriptorOf(socket))?.uid);
    if (!socket.destroyed) serve(socket);
  };
  let listening = await listenAt(path, scope, connected);
  let again: Promise<void> | undefined;
  const listenAgain = async () => {
    listening.server.close(); // first, since closing removes what stands at the path
    listening = await listenAt(path, scope, connected);
  };
  return {
    look() {
      if (closing || fileIdentity(path) !== undefined) return Promise.resolve();
      again ??= listenAgain().finally(() => (again = undefined));
      return again;
    },
    async close() {
      closing = true;
      await again?.catch(() => {});
      // Closing removes what stands at the path, which may be another agent's by now.
      const found = fileIdentity(path);
      const aside = found !== undefined && found !== listening.own ? `${path}.aside` : undefined;
      if (aside !== undefined) renameSync(path, aside);
      const closed = new Promise((resolve) => listening.server.close(resolve));
      if (aside !== undefined) renameSync(aside, path);
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

type Holder = NonNullable<Reply["holder"]>;

interface Listener {
  attached(socket: Socket, holder: Holder): void;
  /** Calls `done` once the high clients can hold this client's work. */
  introduce(holder: Holder, done: () => void): void;
  hungUp(socket: Socket, holder: Holder): void;
  report(socket: Socket, hello: View<typeof Hello>, identity: Identity): Reply;
  readonly variants: VariantMaker;
  readonly identify: Identify;
  readonly answerLaunch: AnswerLaunch | undefined;
}

function receive(socket: Socket, registry: Registry, clock: Clock, listener: Listener): void {
  let answered = false;
  const impatience = clock.after(HELLO_WITHIN, () => socket.destroy());

  const answer = (reply: Reply) => {
    answered = true;
    if (socket.destroyed) return;
    const { holder, stays } = reply;
    if (!send(socket, reply)) socket.destroy();
    else if (!holder && !stays) socket.end(() => socket.destroy());
  };

  const take = (reply: Reply) => {
    const { holder } = reply;
    if (!holder) return answer(reply);
    socket.on("close", () => listener.hungUp(socket, holder));
    listener.attached(socket, holder);
    listener.introduce(holder, () => answer(reply));
  };

  const askForVariants = (path: string, pid: number) => {
    const asked = listener.variants.ask(path, pid);
    socket.on("close", asked.giveUp);
    return asked.answer.then(({ reply, done }) => {
      answer(reply);
      done();
    });
  };

  const judge = (heard: Received) => {
    impatience();
    if ("error" in heard) return answer(refusal(heard.error));
    const { hello, descriptors } = heard;
    // A slot for a client that is gone would be taken and given back for nothing.
    if (hasHungUp(descriptorOf(socket))) {
      descriptors.forEach(closeDescriptor);
      return void socket.destroy();
    }
    const close = () => descriptors.forEach(closeDescriptor);
    const paths = descriptors.map((descriptor) => `/proc/${process.pid}/fd/${descriptor}`);
    const [path] = paths;
    const identity = listener.identify(socket, hello);
    if (typeof identity === "string") {
      answer(refusal(identity));
      return close();
    }
    const ask = (question: typeof hello) => registry.answer(question, identity);
    if (hello.kind === helloKinds.launch)
      replyToLaunch(path, identity, { answer: listener.answerLaunch, ask }, answer);
    else if (hello.kind === helloKinds.report) answer(listener.report(socket, hello, identity));
    else if (hello.kind !== helloKinds.variant) take(registry.answer(hello, identity, paths));
    else {
      const refused = registry.refusalOf(identity);
      if (refused !== undefined) answer(refusal(refused));
      else if (path) return void askForVariants(path, identity.pid).finally(close);
      else answer(refusal("A request for variants comes with a descriptor of its memory file."));
    }
    close();
  };
  socket.on("error", () => socket.destroy());
  socket.on("close", () => impatience());
  hear(socket, (heard) => {
    judge(heard);
    socket.on("data", () => socket.destroy()); // a client has nothing more to say
    socket.on("end", () => (answered ? socket.end() : socket.destroy()));
    socket.resume(); // from now on Node reports its end
  });
}

// Calls `done` once all high clients have mapped the page, or after a time limit with the others:
// these seem to be stopped, and map it when they continue.
function introduceTo(
  holders: ReadonlyMap<Socket, Holder>,
  { gpu, client }: Holder,
  clock: Clock,
  done: (missing: readonly Client[]) => void,
): void {
  const page = client.class === "best-effort" ? gpu.holdFile(client.slot) : undefined;
  const highs = [...holders].filter(
    ([, holder]) => holder.gpu === gpu && holder.client.class === "high",
  );
  if (page === undefined || highs.length === 0) {
    done([]);
    return;
  }
  const bytes = new ArrayBuffer(NewHold.size);
  const message = view(NewHold, bytes);
  message.magic = messageMagic;
  message.slot = client.slot;
  // A send fails if a client has not read for long. It then comes back and is sent all pages.
  for (const [socket] of highs)
    if (!sendWithDescriptors(descriptorOf(socket), new Uint8Array(bytes), [page])) socket.destroy();
  const version = gpu.announceHolds();
  const missing = () =>
    highs.flatMap(([socket, { client: high }]) => {
      const { holdsVersion = version } = gpu.region.memory.high[high.slot] ?? {};
      return socket.destroyed || holdsVersion >= version ? [] : [high];
    });
  const until = clock.now() + MAPPED_WITHIN * 1000;
  const look = () => {
    const left = missing();
    if (left.length === 0 || clock.now() >= until) done(left);
    else clock.after(LOOK_EVERY, look);
  };
  look();
}

function sendAway(socket: Socket): void {
  const reply = later(
    `The agent is busy: more than ${MAX_WITHOUT_SLOT} connections wait for an answer. The client asks again by itself.`,
  );
  if (!socket.destroyed) sendWithDescriptors(descriptorOf(socket), encode(reply), []);
  socket.destroy();
}

/** The socket's buffer is empty, and a Welcome fits into it. */
function send(socket: Socket, reply: Reply): boolean {
  const bytes = encode(reply);
  if (reply.files.length > 0) return sendWithDescriptors(descriptorOf(socket), bytes, reply.files);
  socket.write(bytes);
  return true;
}

function encode(reply: Reply): Uint8Array {
  const bytes = new ArrayBuffer(Welcome.size);
  const welcome = view(Welcome, bytes);
  welcome.magic = messageMagic;
  welcome.version = constants.VERSION;
  welcome.revision = constants.REVISION;
  welcome.status = reply.status;
  welcome.slot = reply.slot;
  if (reply.holder) {
    const { gpu, client } = reply.holder;
    welcome.memoryQuota = client.memoryQuota;
    welcome.holds = holdsFor(gpu, client).reduce((bits, slot) => bits | (1 << slot), 0);
    welcome.holdsVersion = gpu.region.memory.roster.holdsVersion;
  }
  welcome.reason = reply.reason;
  return new Uint8Array(bytes);
}

async function listenAt(path: string, scope: Scope, connected: (socket: Socket) => void) {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, connected);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  // Until now the umask kept other users from connecting.
  chmodSync(path, scope === "machine" ? 0o666 : 0o600);
  return { server, own: fileIdentity(path) };
}
