// Allocates slots in the register words of a warp, and gives them their initial values.
import type { Declaration } from "#ptx";
import type { Filled, Slot } from "../instructions/site.ts";
import { LANES } from "../machine/warp-state.ts";
import { wordsOf } from "../numbers/types.ts";

/** The value of words that no instruction has written. It is unusual, so that reading such a word is noticed. */
const UNWRITTEN = 0x5eed5eed;

export interface Slots {
  /** A new slot. */
  claim(words: number): Slot;
  /** The slot of a constant with these bits. */
  constant(bits: bigint, words: number): Slot;
  /** The slot of a declared register. `name` distinguishes the members of a family. */
  register(declaration: Declaration, name: string): Slot;
  /** Returns a list to which all slots are added that are claimed until the next call. */
  collect(): readonly Filled[];
  /** The registers' initial words, with constants. */
  template(): ArrayBuffer;
  /** A slot that is never read. */
  readonly trash: Slot;
  /** The slot of the carry flag (add.cc and others), one word for each lane. */
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
