// Floating point against a simple reference: all 65,536 halves, and random operands against exact rational arithmetic.
import fc from "fast-check";
import { expect, test } from "vitest";
import { decode, encode } from "./halves.ts";
import {
  addF32,
  divF32,
  F32,
  F64,
  fmaExact,
  fmaF32,
  fmaF64,
  mulF32,
  type Rounding,
  sqrtF32,
} from "./rounding.ts";

/** The number that 16 bits stand for, by the definition of the format. */
function meaning(bits: number, exponentBits: number, fractionBits: number): number {
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> fractionBits) & (2 ** exponentBits - 1);
  const fraction = bits & (2 ** fractionBits - 1);
  const bias = 2 ** (exponentBits - 1) - 1;
  if (exponent === 2 ** exponentBits - 1) return fraction === 0 ? sign / 0 : Number.NaN;
  return exponent === 0
    ? sign * fraction * 2 ** (1 - bias - fractionBits)
    : sign * (1 + fraction / 2 ** fractionBits) * 2 ** (exponent - bias);
}

const formats = [
  ["f16", 5, 10],
  ["bf16", 8, 7],
] as const;

test.each(formats)(
  "every %s decodes to its meaning and encodes to itself",
  (type, exponent, fraction) => {
    for (let bits = 0; bits < 65536; bits++) {
      const value = meaning(bits, exponent, fraction);
      const decoded = decode[type](bits);
      if (!Object.is(decoded, value)) expect.fail(`${type} ${bits}: ${decoded}, not ${value}`);
      const again = encode(value, type, "rn");
      const wanted = Number.isNaN(value) ? 0x7fff : bits;
      if (again !== wanted) expect.fail(`${type} ${bits} encodes to ${again}`);
    }
  },
);

test.each(formats)(
  "between neighbouring %s each rounding goes its way",
  (type, exponent, fraction) => {
    const top = (2 ** exponent - 1) << fraction;
    for (let bits = 0; bits + 1 < top; bits++) {
      const low = meaning(bits, exponent, fraction);
      const high = meaning(bits + 1, exponent, fraction);
      const middle = (low + high) / 2;
      const quarter = (low + middle) / 2;
      const even = bits % 2 === 0 ? bits : bits + 1;
      const found = [
        encode(middle, type, "rn"),
        encode(quarter, type, "rn"),
        encode((middle + high) / 2, type, "rn"),
        encode(quarter, type, "rp"),
        encode((middle + high) / 2, type, "rm"),
        encode(-middle, type, "rz"),
        encode(-quarter, type, "rm"),
      ];
      const wanted = [even, bits, bits + 1, bits + 1, bits, bits | 0x8000, (bits + 1) | 0x8000];
      if (found.join() !== wanted.join())
        expect.fail(`${type} above ${bits}: ${found}, not ${wanted}`);
    }
  },
);

const mode = fc.constantFrom<Rounding>("rn", "rz", "rm", "rp");
const float = fc.float({ noNaN: true, noDefaultInfinity: true });
const double = fc.double({ noNaN: true, noDefaultInfinity: true });

test("sums, products and fused operations of floats agree with exact arithmetic", () => {
  fc.assert(
    fc.property(float, float, float, mode, (a, b, c, m) => {
      expect(fmaF32(a, b, c, m)).toBe(fmaExact(a, b, c, F32, m));
      expect(addF32(a, b, m)).toBe(fmaExact(a, 1, b, F32, m));
      if (a * b !== 0) expect(mulF32(a, b, m)).toBe(fmaExact(a, b, 0, F32, m));
    }),
    { numRuns: 1000, seed: 1 },
  );
});

test("the quick fused sum of doubles agrees with exact arithmetic", () => {
  const near = fc.tuple(double, fc.integer({ min: -60, max: 60 }));
  fc.assert(
    fc.property(double, double, near, (a, b, [c, shift]) => {
      const close = -a * b * (1 + shift * 2 ** -52);
      for (const third of [c, close])
        if (Number.isFinite(third))
          expect(fmaF64(a, b, third, "rn")).toBe(fmaExact(a, b, third, F64, "rn"));
    }),
    { numRuns: 1000, seed: 1 },
  );
});

test("quotients and roots of floats are rounded to the neighbour that the mode requires", () => {
  const above = (x: number) => x + Math.max(Math.abs(x) * 2 ** -23, 2 ** -149);
  fc.assert(
    fc.property(float, float, (a, b) => {
      if (b === 0 || !Number.isFinite(Math.fround(a / b))) return;
      const [down, up] = [divF32(a, b, "rm"), divF32(a, b, "rp")];
      expect(down <= a / b && a / b <= up).toBe(true);
      expect(up <= above(down)).toBe(true);
      expect([down, up]).toContain(divF32(a, b, "rn"));
      expect(divF32(a, b, "rz")).toBe(a / b > 0 ? down : a / b < 0 ? up : a / b);
      const root = Math.abs(a);
      const [low, high] = [sqrtF32(root, "rm"), sqrtF32(root, "rp")];
      expect(low * low <= root && root <= high * high).toBe(true);
      expect(high <= above(low)).toBe(true);
    }),
    { numRuns: 1000, seed: 1 },
  );
});
