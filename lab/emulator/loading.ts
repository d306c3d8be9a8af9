// Places the module's variables in device memory and initialises them, at the first launch of a module with this
// memory.

import { type Declarator, findFunction, findVariable, type Module, moduleScope } from "#ptx";
import type { Program } from "./compile/program.ts";
import { byteSize, functionAddress } from "./instructions/layout.ts";
import { badLaunch } from "./machine/errors.ts";
import type { DeviceMemory } from "./machine/memory.ts";
import { bitsOf, bytesOf, immediateBits } from "./numbers/types.ts";

const loaded = new WeakMap<DeviceMemory, WeakMap<Module, Map<Declarator, number>>>();

/** The addresses for the program's address slots, by slot. */
export function loadVariables(
  module: Module,
  program: Program,
  memory: DeviceMemory,
): ReadonlyMap<number, bigint> {
  let ofMemory = loaded.get(memory);
  if (ofMemory === undefined) {
    ofMemory = new WeakMap();
    loaded.set(memory, ofMemory);
  }
  const known = ofMemory.get(module);
  const addresses = known ?? new Map<Declarator, number>();
  if (known === undefined) {
    ofMemory.set(module, addresses);
    place(module, memory, addresses);
  }
  const scope = moduleScope(module);
  const slots = new Map<number, bigint>();
  for (const { slot, variable, offset } of program.addresses) {
    const declaration = findVariable(scope, variable);
    const address = declaration && addresses.get(declaration.declarator);
    if (address === undefined)
      throw badLaunch(program.kernel.name, `${variable} is defined nowhere`);
    slots.set(slot, BigInt(address + offset));
  }
  return slots;
}

function place(module: Module, memory: DeviceMemory, addresses: Map<Declarator, number>): void {
  const variables = module.items
    .filter((item) => item.kind === "variable")
    .filter(
      ({ space, linkage }) => (space === "global" || space === "const") && linkage !== ".extern",
    );
  for (const variable of variables)
    for (const declarator of variable.names)
      addresses.set(declarator, memory.allocate(Math.max(byteSize({ variable, declarator }), 1)));
  const scope = moduleScope(module);
  const addressOf = (name: string): bigint => {
    const func = findFunction(scope, name);
    if (func !== undefined) return functionAddress(module, func);
    const declaration = findVariable(scope, name);
    return BigInt((declaration && addresses.get(declaration.declarator)) ?? 0);
  };
  for (const variable of variables)
    for (const declarator of variable.names)
      if (declarator.init !== undefined) {
        const bytes = initialBytes(declarator.init, variable.type, addressOf);
        memory.write(addresses.get(declarator) ?? 0, bytes);
      }
}

/** The values in order, without the nesting of their braces. */
function initialBytes(init: string, type: string, addressOf: (name: string) => bigint): Uint8Array {
  const values = init
    .split(/[{},]/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
  const each = bytesOf(type);
  const bytes = new Uint8Array(each * values.length);
  values.forEach((text, i) => {
    const name = /^(?:generic\()?([A-Za-z_$%][\w$]*)\)?(?:\s*\+\s*(\d+))?$/.exec(text);
    let value =
      name === null ? immediateBits(text, type) : addressOf(name[1] ?? "") + BigInt(name[2] ?? 0);
    if (value === undefined)
      throw badLaunch("The module", `"${text}" as an initial value is not understood`);
    value = BigInt.asUintN(bitsOf(type), value);
    for (let j = 0; j < each; j++) bytes[i * each + j] = Number((value >> BigInt(8 * j)) & 0xffn);
  });
  return bytes;
}
