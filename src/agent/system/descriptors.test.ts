// Two ends of a Unix socket in this process.
import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { closeDescriptor, receiveWithDescriptors, sendWithDescriptors } from "./descriptors.ts";
import { createMemoryFile } from "./libc.ts";

const fdOf = (socket: Socket & { readonly _handle?: { readonly fd: number } }) =>
  socket._handle?.fd ?? -1;

/** Both are paused, so that Node reads nothing. */
async function connected() {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-descriptors-`);
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true });
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  const client = await new Promise<Socket>((resolve) => {
    server.listen(`${directory}/socket`, () => {
      const socket = connect(`${directory}/socket`, () => resolve(socket));
      socket.pause();
    });
  });
  const peer = await accepted;
  onTestFinished(() => {
    for (const socket of [client, peer]) socket.destroy();
    server.close();
    rmSync(directory, { recursive: true });
  });
  return { client, peer, from: fdOf(client), to: fdOf(peer) };
}

function memoryFile(): number {
  const fd = createMemoryFile("cotenant-test");
  onTestFinished(() => closeSync(fd));
  return fd;
}

/** The next bytes that have come, as a text, at most `most`. */
function received(socket: number, most = 100) {
  const bytes = new Uint8Array(most);
  const got = receiveWithDescriptors(socket, bytes, 2);
  return got && { ...got, text: new TextDecoder().decode(bytes.subarray(0, got.size)) };
}

const text = (said: string) => new TextEncoder().encode(said);

test("a descriptor comes with its bytes, is the same file, and goes to no program that is started", async () => {
  const { from, to } = await connected();
  const file = memoryFile();
  expect(sendWithDescriptors(from, text("hello"), [file])).toBe(true);
  const got = received(to);
  expect(got).toMatchObject({ size: 5, text: "hello" });
  const [descriptor = -1] = got?.descriptors ?? [];
  expect(descriptor).not.toBe(file);
  expect(fstatSync(descriptor).ino).toBe(fstatSync(file).ino);
  const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"));
  expect(Number.parseInt(flags?.[1] ?? "0", 8) & 0o2000000).toBe(0o2000000); // close-on-exec
  closeDescriptor(descriptor);
  expect(() => fstatSync(descriptor)).toThrow("EBADF");
});

test("bytes may come without a descriptor, and in parts", async () => {
  const { client, from, to } = await connected();
  await new Promise<void>((resolve) => void client.write("hello", () => resolve()));
  expect(received(to, 3)).toEqual({ size: 3, text: "hel", descriptors: [] });
  expect(received(to, 3)).toEqual({ size: 2, text: "lo", descriptors: [] });
  expect(sendWithDescriptors(from, text("again"), [memoryFile()])).toBe(true);
  const first = received(to, 3);
  expect(first).toMatchObject({ size: 3, text: "aga" });
  expect(first?.descriptors).toEqual([expect.any(Number)]);
  first?.descriptors.forEach(closeDescriptor);
  expect(received(to, 3)).toEqual({ size: 2, text: "in", descriptors: [] });
});

test("several descriptors come in their order, and no more than asked for", async () => {
  const { from, to } = await connected();
  const files = [memoryFile(), memoryFile(), memoryFile()];
  const inodeOf = (fd: number) => fstatSync(fd).ino;
  expect(sendWithDescriptors(from, text("three"), files)).toBe(true);
  const before = readdirSync("/proc/self/fd").length;
  const { descriptors = [] } = received(to) ?? {};
  expect(descriptors.map(inodeOf)).toEqual(files.slice(0, 2).map(inodeOf));
  expect(readdirSync("/proc/self/fd").length).toBe(before + 2);
  descriptors.forEach(closeDescriptor);
});

test("no bytes yet differ from the end of the connection", async () => {
  const { client, to } = await connected();
  expect(received(to)).toBeUndefined();
  await new Promise<void>((resolve) => void client.end(() => resolve()));
  expect(received(to)).toMatchObject({ size: 0, descriptors: [] });
});

test("a socket that was closed counts as ended", () => {
  for (const fd of [-1, memoryFile()])
    expect(received(fd)).toEqual({ size: 0, text: "", descriptors: [] });
});

test("an invalid descriptor is not sent", async () => {
  const { from, to } = await connected();
  expect(sendWithDescriptors(from, text("hello"), [-1])).toBe(false);
  expect(received(to)).toBeUndefined();
  expect(sendWithDescriptors(-1, text("hello"), [memoryFile()])).toBe(false);
});

test("a message that does not fit into the socket is not sent whole, and the call does not wait for room", async () => {
  const { from } = await connected();
  const file = openSync("/dev/null", "r");
  onTestFinished(() => closeSync(file));
  const bytes = new Uint8Array(2 ** 16 + 1);
  let sent = 0;
  while (sent < 1000 && sendWithDescriptors(from, bytes, [file])) sent++;
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThan(1000);
});

test("nothing is sent to a closed end, and this process goes on", async () => {
  const { peer, from } = await connected();
  await new Promise<void>((resolve) => void peer.destroy().once("close", () => resolve()));
  expect(sendWithDescriptors(from, text("hello"), [memoryFile()])).toBe(false);
});
