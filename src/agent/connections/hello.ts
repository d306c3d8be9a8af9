// Reads the one Hello of a connection, with the descriptors that may come along. Node's own reads would drop them, so the socket is paused until the Hello is whole, and looked at: a client sends it right after it connects.
import type { Socket } from "node:net";
import { constants, Hello, messageMagic, type View, view } from "#protocol";
import { closeDescriptor, receiveWithDescriptors } from "../system/index.ts";
import { descriptorOf } from "./peer.ts";

/** When to look again where nothing has come: at first soon, then ever more rarely. */
const FIRST_LOOK_MS = 1;
const LONGEST_PAUSE_MS = 50;

export type Heard =
  | { readonly hello: View<typeof Hello>; readonly descriptors: readonly number[] }
  | { readonly error: string };

/** A best-effort client that comes back brings two. */
const MOST_DESCRIPTORS = 2;

/** Calls `heard` once, unless the socket is closed before. Who hears descriptors closes them. */
export function hear(socket: Socket, heard: (what: Heard) => void): void {
  const received = new Uint8Array(Hello.size + 1); // one byte more would be one too many
  let size = 0;
  let descriptors: readonly number[] = [];
  let pause = FIRST_LOOK_MS;
  let timer: NodeJS.Timeout | undefined;

  const drop = () => {
    for (const descriptor of descriptors) closeDescriptor(descriptor);
    descriptors = [];
  };
  const end = (what: Heard) => {
    socket.off("close", forget);
    if ("error" in what) drop();
    heard(what);
  };
  const forget = () => {
    clearTimeout(timer);
    drop();
  };
  const look = () => {
    for (;;) {
      const into = received.subarray(size);
      const got = receiveWithDescriptors(descriptorOf(socket), into, MOST_DESCRIPTORS);
      if (!got) {
        timer = setTimeout(look, pause);
        pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
        return;
      }
      if (got.descriptors.length > 0) {
        drop();
        ({ descriptors } = got);
      }
      if (got.size === 0) return end({ error: `A Hello has ${Hello.size} bytes, not ${size}.` });
      size += got.size;
      const error = errorIn(received.subarray(0, size));
      if (error) return end({ error });
      if (size === Hello.size)
        return end({ hello: view(Hello, received.slice(0, size).buffer), descriptors });
    }
  };
  socket.once("close", forget);
  look();
}

/** What the first bytes show already: a client of another version says Hellos of another size. */
function errorIn(received: Uint8Array): string | undefined {
  if (received.length < 8) return undefined;
  const words = new DataView(received.buffer, received.byteOffset);
  if (words.getUint32(0, true) !== messageMagic) return "That is not a Hello: its magic is wrong.";
  const version = words.getUint32(4, true);
  if (version !== constants.VERSION)
    return `This agent speaks version ${constants.VERSION} of the protocol, the client's library version ${version}: ${
      version < constants.VERSION
        ? "the client is older. Start it again with the newer Cotenant."
        : "the agent is older. Restart it with the newer Cotenant."
    }`;
  if (received.length > Hello.size)
    return `A Hello has ${Hello.size} bytes, not ${received.length}.`;
  return undefined;
}
