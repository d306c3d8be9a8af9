import fc from "fast-check";
import { expect, test } from "vitest";
import { Events } from "./events.ts";

const all = (pieces: readonly Buffer[]) => {
  const events = new Events();
  return pieces.flatMap((piece) => events.push(piece));
};

test("an event ends at its empty line; comments and other fields are none", () => {
  const stream =
    ': ping\n\nevent: x\nid: 3\ndata: {"a":1}\n\ndata:two\r\n\r\ndata: one\ndata: more\n\ndata: open\n';
  expect(all([Buffer.from(stream)])).toEqual(['{"a":1}', "two", "one\nmore"]);
});

test("the same events come however the stream is cut, also inside a character", () => {
  const texts = ["grüße", "日本", "🙂", "", " blank"];
  const bytes = Buffer.from(texts.map((text) => `data: ${text}\r\n\r\n`).join(""));
  fc.assert(
    fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 12 }), (cuts) => {
      const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const pieces = edges.slice(1).map((end, i) => bytes.subarray(edges[i], end));
      expect(all(pieces)).toEqual(texts);
    }),
  );
});
