// Requests that hold best-effort work only when they are old enough (rule graceUs), as the helper thread's state machine
// has it (native/gate/hold.h).
import { expect, test } from "vitest";
import { holdAction } from "#protocol";
import { looks, running, us } from "./looks.ts";

const { leave, close, open } = holdAction;

test("the word is set when the oldest active request is so old, to the microsecond", () => {
  const look = looks(running, { graceUs: 700 });
  // One may begin right after a poll that sees none.
  expect(look({ nowNs: us(0) })).toMatchObject({ hold: leave, againNs: 700e3 });
  expect(look({ nowNs: us(700), highActive: 1, activeUs: 650 })).toMatchObject({
    hold: leave,
    againNs: 50e3,
  });
  expect(look({ nowNs: us(749), activeUs: 699 })).toMatchObject({ hold: leave, againNs: 20e3 });
  expect(look({ nowNs: us(750), activeUs: 700 }).hold).toBe(close);
});

test("the word is opened again when a younger request is the only one", () => {
  const look = looks(running, { graceUs: 700, resumeDelayUs: 0 });
  expect(look({ nowNs: us(0), highActive: 1, activeUs: 900 }).hold).toBe(close);
  expect(look({ nowNs: us(50), activeUs: 20 }).hold).toBe(open);
});

test("the helper thread looks once a millisecond if requests are held later than that", () => {
  const look = looks(running, { graceUs: 9000 });
  expect(look({ nowNs: us(0), highActive: 1, activeUs: 100 }).againNs).toBe(1e6);
});
