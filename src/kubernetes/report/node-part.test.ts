import { expect, test } from "vitest";
import { nodePartAdvice } from "./node-part.ts";

test("a node part that runs nowhere gets the sentence with the cure, and another one none", () => {
  const part = { selector: "nvidia.com/gpu.present=true,zone=a", nodes: 0, ready: 0 };
  expect(nodePartAdvice(part)).toContain(
    "kubectl label node NAME nvidia.com/gpu.present=true zone=a.",
  );
  expect(nodePartAdvice({ ...part, selector: "" })).toContain("describe daemonset cotenant-node");
  expect(nodePartAdvice({ ...part, nodes: 1 })).toBe(undefined);
  expect(nodePartAdvice(undefined)).toBe(undefined);
});
