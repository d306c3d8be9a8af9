// Messages over a Unix socket that bring a descriptor along (SCM_RIGHTS, unix(7)). Node's own reads drop such descriptors,
// so a socket must be paused while it is read here. No call waits.
import koffi from "koffi";

const libc = koffi.load("libc.so.6");

const IoVector = koffi.struct("cotenant_iovec", { at: "void *", size: "size_t" });
koffi.struct("cotenant_msghdr", {
  name: "void *",
  nameSize: "uint32_t",
  vectors: koffi.pointer(IoVector),
  vectorCount: "size_t",
  control: "void *",
  controlSize: "size_t",
  flags: "int",
});
const sendMessageCall = libc.func("int64_t sendmsg(int fd, cotenant_msghdr *message, int flags)");
const receiveMessageCall = libc.func(
  "int64_t recvmsg(int fd, _Inout_ cotenant_msghdr *message, int flags)",
);
const closeCall = libc.func("int close(int fd)");

const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const MSG_CMSG_CLOEXEC = 0x40000000;
/** A cmsghdr: its length (8 bytes), level and type; then one descriptor. */
const HEADER = 16;
const ONE_DESCRIPTOR = HEADER + 4;
const EAGAIN = 11;
const EINTR = 4;

/** Sends `bytes` whole, with a descriptor. False: it could not be sent, or not whole. */
export function sendWithDescriptor(socket: number, bytes: Uint8Array, passed: number): boolean {
  const control = Buffer.alloc(ONE_DESCRIPTOR);
  control.writeBigUInt64LE(BigInt(ONE_DESCRIPTOR), 0);
  control.writeInt32LE(SOL_SOCKET, 8);
  control.writeInt32LE(SCM_RIGHTS, 12);
  control.writeInt32LE(passed, HEADER);
  const sent = sendMessageCall(socket, messageOf(bytes, control), MSG_DONTWAIT | MSG_NOSIGNAL);
  return Number(sent) === bytes.length;
}

/** What has come: `size` bytes at the beginning of the buffer (0: the other end is closed), and who owns `descriptor` now closes it. */
export interface Received {
  readonly size: number;
  readonly descriptor: number | undefined;
}

/** Takes what has come; undefined: nothing yet. Of several descriptors in one message only the first is taken. */
export function receiveWithDescriptor(socket: number, into: Uint8Array): Received | undefined {
  const control = Buffer.alloc(ONE_DESCRIPTOR);
  const message = messageOf(into, control);
  const size = Number(receiveMessageCall(socket, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
  if (size < 0) {
    const error = koffi.errno();
    return error === EAGAIN || error === EINTR ? undefined : { size: 0, descriptor: undefined };
  }
  const passed =
    Number(message.controlSize) >= ONE_DESCRIPTOR &&
    control.readInt32LE(8) === SOL_SOCKET &&
    control.readInt32LE(12) === SCM_RIGHTS;
  return { size, descriptor: passed ? control.readInt32LE(HEADER) : undefined };
}

/** Closes a descriptor that nothing of Node's refers to. */
export const closeDescriptor = (fd: number): void => void closeCall(fd);

const messageOf = (bytes: Uint8Array, control: Uint8Array) => ({
  name: null,
  nameSize: 0,
  vectors: [{ at: bytes, size: bytes.length }],
  vectorCount: 1,
  control,
  controlSize: control.length as number | bigint,
  flags: 0,
});
