import { expect, test } from "vitest";
import { parse } from "../syntax/parse.ts";
import { moduleScope } from "../syntax/scopes.ts";
import { targetOf } from "../syntax/target.ts";
import { controlFlow } from "./control-flow.ts";

const module = parse(`.version 8.1
.target sm_90
.visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, %tid.x; ret; }
`);

test("a copy of a function with another body has results of its own", () => {
  const func = module.items.find((one) => one.kind === "function");
  if (func === undefined) throw new Error("no function");
  const flow = controlFlow(func);
  expect(controlFlow(func)).toBe(flow);
  const shorter = { ...func, body: func.body?.slice(-1) };
  expect(controlFlow(shorter).instructions.map(({ operation }) => operation.text)).toEqual(["ret"]);
  expect(controlFlow(func).instructions).toHaveLength(2);
  expect(controlFlow({ ...func, name: "other" }).names.texts).toEqual(["%r1", "%tid.x"]);
});

test("a copy of a module with other items has results of its own", () => {
  expect(moduleScope(module).functions.has("k")).toBe(true);
  expect(targetOf(module)).toEqual({ name: "sm_90", sm: 90, version: 801 });
  const none = { ...module, items: [] };
  expect(moduleScope(none).functions.size).toBe(0);
  expect(targetOf(none).name).toBe("");
  expect(moduleScope(module).functions.has("k")).toBe(true);
});

test("two analyses of one module run once each", () => {
  const scope = moduleScope(module);
  const target = targetOf(module);
  expect(moduleScope(module)).toBe(scope);
  expect(targetOf(module)).toBe(target);
});
