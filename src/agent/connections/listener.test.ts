import { expect, onTestFinished, test } from "vitest";
import { newListener } from "./listener.ts";

test("an agent that is not ready answers so without a token, and is alive", async () => {
  let ready = false;
  const listener = newListener(() => ready);
  onTestFinished(() => listener.close());
  const port = await listener.listen("127.0.0.1", 0);
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return [answer.status, await answer.text()];
  };
  expect(await ask("/readyz")).toEqual([503, "not ready\n"]);
  expect(await ask("/healthz")).toEqual([200, "ok\n"]);
  ready = true;
  expect(await ask("/readyz")).toEqual([200, "ok\n"]);
});
