// Makes the site of one instruction.
import { findFunction, findLabel, findVariable } from "#ptx";
import { byteSize } from "../instructions/layout.ts";
import type { Site } from "../instructions/site.ts";
import { notEmulated } from "../machine/errors.ts";
import type { Step } from "../machine/warp.ts";
import { isType } from "../numbers/types.ts";
import type { Compilation, Compiled } from "./compilation.ts";
import { operandSlots } from "./operand-slots.ts";

/** Adds to `first` and `last` the steps that must run before and after the instruction. */
export function makeSite(
  compilation: Compilation,
  pc: number,
  one: Compiled,
  first: Step[],
  last: Step[],
): Site {
  const { module, slots } = compilation;
  const { instruction, scope, routine } = one;
  const { modifiers } = instruction.operation;
  const before = (step: Step) => void first.push(step);
  const after = (step: Step) => void last.push(step);
  const fail = (why: string): never => {
    throw notEmulated(compilation.locationOf(one), why);
  };

  return {
    instruction,
    operands: instruction.operands,
    types: modifiers.filter(isType),
    pc,
    has: (modifier) => modifiers.includes(modifier),
    one: (choices) => choices.find((choice) => modifiers.includes(choice)),
    type(index = 0) {
      return this.types[index] ?? fail("its type is missing");
    },
    operand: (index) => instruction.operands[index] ?? fail(`operand ${index + 1} is missing`),
    ...operandSlots(compilation, one, { before, after, fail }),
    temporary: slots.claim,
    before,
    after,
    fail,
    carry: slots.carry,
    routine,
    routineAt(low) {
      const func = module.items[low / 16 - 1];
      return func?.kind === "function" ? compilation.known(func) : undefined;
    },
    everyFunction() {
      for (const item of module.items)
        if (item.kind === "function" && !item.entry && item.body !== undefined)
          compilation.routine(item);
    },
    target(name) {
      const label = findLabel(scope, name);
      const at = label === undefined ? undefined : compilation.targets.get(label);
      return at ?? fail(`there is no label ${name}`);
    },
    targetsIn(name) {
      const label = findLabel(scope, name);
      const list = label && compilation.lists.get(label);
      return (list ?? fail(`${name} is no list of targets`)).map((one) => this.target(one));
    },
    callee(name) {
      const func = findFunction(scope, name);
      return func?.body === undefined ? undefined : compilation.routine(func);
    },
    frameOffset(name) {
      const declaration = findVariable(scope, name);
      if (declaration === undefined) return fail(`nothing is called ${name}`);
      return {
        offset: routine.frame.offsetOf(declaration.declarator),
        bytes: byteSize(declaration),
      };
    },
    reduces: (reduction) => {
      compilation.reductions[pc] = reduction;
    },
  };
}
