// The register words of a warp: who has which slot, and what stands in them before the first instruction.
import type { Declaration } from "#ptx";
import type { Filled, Slot } from "../instructions/site.ts";
import { LANES } from "../machine/warp-state.ts";
import { wordsOf } from "../numbers/types.ts";

/** Words that no instruction has written: neither 0 nor a usual value, so that reading one shows. */
const UNWRITTEN = 0x5eed5eed;

export interface Slots {
  /** A slot of its own. */
  claim(words: number): Slot;
  /** The slot that holds these bits. */
  constant(bits: bigint, words: number): Slot;
  /** The slot of a declared register; `name` tells the members of a family apart. */
  register(declaration: Declaration, name: string): Slot;
  /** What is claimed from now on, up to the next call: a list that grows. */
  collect(): readonly Filled[];
  /** Register words with the constants in them. */
  template(): ArrayBuffer;
  /** Nobody reads it. */
  readonly trash: Slot;
  /** Carry flag of add.cc and its like, one word a lane. */
  readonly carry: Slot;
}

export function makeSlots(): Slots {
  let words = 0;
  let claimed: Filled[] = [];
  const registers = new Map<Declaration, Map<string, Slot>>();
  const constants = new Map<string, Filled & { readonly bits: bigint }>();

  const claim = (count: number): Slot => {
    const slot = Math.ceil(words / (LANES * count)) * LANES * count;
    words = slot + LANES * count;
    claimed.push({ slot, words: count });
    return slot;
  };

  return {
    trash: claim(4),
    carry: claim(1),
    claim,
    constant(bits, count) {
      const key = `${count}:${bits}`;
      const known = constants.get(key);
      if (known !== undefined) return known.slot;
      const slot = claim(count);
      constants.set(key, { slot, words: count, bits });
      return slot;
    },
    register(declaration, name) {
      const members = registers.get(declaration) ?? new Map<string, Slot>();
      registers.set(declaration, members);
      const known = members.get(name);
      if (known !== undefined) return known;
      const slot = claim(wordsOf(declaration.variable.type));
      members.set(name, slot);
      return slot;
    },
    collect() {
      claimed = [];
      return claimed;
    },
    template() {
      const template = new ArrayBuffer(Math.ceil(words / 2) * 8);
      const view = new Int32Array(template);
      view.fill(UNWRITTEN);
      for (const slot of predicateSlots(registers)) view.fill(0, slot, slot + LANES);
      for (const { slot, words: count, bits } of constants.values())
        for (let l = 0; l < LANES; l++)
          for (let i = 0; i < count; i++)
            view[slot + l * count + i] = Number((bits >> BigInt(32 * i)) & 0xffffffffn);
      return template;
    },
  };
}

function* predicateSlots(registers: ReadonlyMap<Declaration, ReadonlyMap<string, Slot>>) {
  for (const [declaration, slots] of registers)
    if (declaration.variable.type === "pred") yield* slots.values();
}
