import { expect, test } from "vitest";
import { welcomeStatus } from "#protocol";
import { noVariantMaker, refused } from "./maker.ts";

test("an agent that makes no variants refuses every request, and says so", async () => {
  const { answer, giveUp } = noVariantMaker.ask("/nowhere", 1);
  const { reply, done } = await answer;
  expect(reply).toMatchObject({
    status: welcomeStatus.refused,
    reason: "This agent makes no variants.",
  });
  expect(reply.files).toEqual([]);
  giveUp();
  done();
});

test("a refusal has its reason and brings no file", () => {
  const { reply } = refused("Not today.");
  expect(reply).toMatchObject({ status: welcomeStatus.refused, reason: "Not today." });
  expect(reply.files).toEqual([]);
});
