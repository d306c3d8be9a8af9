import fc from "fast-check";
import { expect, test } from "vitest";
import { bytesOf, type Message, MessageReader } from "./frames.ts";

const anyMessage: fc.Arbitrary<readonly [number, Message]> = fc.tuple(
  fc.constantFrom(1, 2),
  fc.record({
    stream: fc.nat({ max: 2 ** 32 - 1 }),
    type: fc.constantFrom(1, 2),
    data: fc.uint8Array({ maxLength: 20_000 }).map((bytes) => Buffer.from(bytes)),
  }),
);

test("whatever comes in whatever pieces is put together again, in order", () => {
  fc.assert(
    fc.property(
      fc.array(anyMessage, { maxLength: 5 }),
      fc.integer({ min: 1, max: 5000 }),
      (messages, piece) => {
        const bytes = Buffer.concat(messages.map(([connection, one]) => bytesOf(connection, one)));
        const reader = new MessageReader();
        const found: (readonly [number, Message])[] = [];
        for (let at = 0; at < bytes.length; at += piece)
          found.push(...reader.take(bytes.subarray(at, at + piece)));
        expect(found).toEqual(messages);
      },
    ),
    { numRuns: 50 },
  );
});

test("a message is written as the two protocols have it, in pieces that the runtime's buffer holds", () => {
  const small = bytesOf(2, { stream: 1, type: 1, data: Buffer.from("abc") });
  expect(small.toString("hex")).toBe("000000020000000d00000003000000010100616263");
  const large = bytesOf(1, { stream: 3, type: 2, data: Buffer.alloc(5000) });
  expect([large.readUInt32BE(4), large.readUInt32BE(8 + 4096 + 4)]).toEqual([4096, 914]);
});

test("what is no such framing is refused", () => {
  expect(() => new MessageReader().take(Buffer.from("GET / HTTP/1.1\r\n"))).toThrow("a piece of");
  const message = bytesOf(1, { stream: 1, type: 1, data: Buffer.alloc(0) });
  message.writeUInt32BE(2 ** 31, 8);
  expect(() => new MessageReader().take(message)).toThrow("a message of");
});
