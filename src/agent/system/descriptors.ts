// Descriptors come with messages over a Unix socket (SCM_RIGHTS, unix(7)). Node's own reads drop
// them, so a socket must be paused while it is read here. No call waits.
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
/** A cmsghdr holds its length (8 bytes), level and type; then come the descriptors. */
const HEADER = 16;
const DESCRIPTOR = 4;
const EAGAIN = 11;
const EINTR = 4;

export function sendWithDescriptors(
  socket: number,
  bytes: Uint8Array,
  passed: readonly number[],
): boolean {
  const size = HEADER + DESCRIPTOR * passed.length;
  const control = Buffer.alloc(Math.ceil(size / 8) * 8);
  control.writeBigUInt64LE(BigInt(size), 0);
  control.writeInt32LE(SOL_SOCKET, 8);
  control.writeInt32LE(SCM_RIGHTS, 12);
  for (const [i, fd] of passed.entries()) control.writeInt32LE(fd, HEADER + DESCRIPTOR * i);
  const rights = passed.length === 0 ? control.subarray(0, 0) : control;
  const sent = sendMessageCall(socket, messageOf(bytes, rights), MSG_DONTWAIT | MSG_NOSIGNAL);
  return Number(sent) === bytes.length;
}

/** `size` 0: the other end is closed. The caller closes the descriptors. */
export interface Received {
  readonly size: number;
  readonly descriptors: readonly number[];
}

export function receiveWithDescriptors(
  socket: number,
  into: Uint8Array,
  most: number,
): Received | undefined {
  const control = Buffer.alloc(HEADER + DESCRIPTOR * most);
  const message = messageOf(into, control);
  const size = Number(receiveMessageCall(socket, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
  if (size < 0) {
    const error = koffi.errno();
    return error === EAGAIN || error === EINTR ? undefined : { size: 0, descriptors: [] };
  }
  const passed =
    Number(message.controlSize) > HEADER &&
    control.readInt32LE(8) === SOL_SOCKET &&
    control.readInt32LE(12) === SCM_RIGHTS;
  const end = passed ? Number(control.readBigUInt64LE(0)) : HEADER;
  const count = Math.min(most, (end - HEADER) / DESCRIPTOR);
  const descriptors = Array.from({ length: count }, (_, i) =>
    control.readInt32LE(HEADER + DESCRIPTOR * i),
  );
  return { size, descriptors };
}

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
