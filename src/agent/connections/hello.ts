// Node's own reads would drop the descriptors that come with a Hello. So the socket stays paused
// until the Hello is whole, and this file polls it: a client sends its Hello at once.
import type { Socket } from "node:net";
import { constants, Hello, messageMagic, type View, view } from "#protocol";
import { closeDescriptor, receiveWithDescriptors } from "../system/index.ts";
import { descriptorOf } from "./peer.ts";

const FIRST_LOOK_MS = 1;
const LONGEST_PAUSE_MS = 50;

export type Received =
  | { readonly hello: View<typeof Hello>; readonly descriptors: readonly number[] }
  | { readonly error: string };

const MAX_DESCRIPTORS = 2;

/** Calls `heard` once, unless the socket closes first. The caller closes the descriptors. */
export function hear(socket: Socket, heard: (what: Received) => void): void {
  const received = new Uint8Array(Hello.size + 1); // one byte of room beyond a Hello shows that a message is too long
  let size = 0;
  let descriptors: readonly number[] = [];
  let pause = FIRST_LOOK_MS;
  let timer: NodeJS.Timeout | undefined;

  const drop = () => {
    for (const descriptor of descriptors) closeDescriptor(descriptor);
    descriptors = [];
  };
  const end = (what: Received) => {
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
      const got = receiveWithDescriptors(descriptorOf(socket), into, MAX_DESCRIPTORS);
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

/** The version is judged before the size, because a Hello's size differs by version. */
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
