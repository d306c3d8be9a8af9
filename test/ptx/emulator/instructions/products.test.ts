// Products of warp groups and warps, against plain ones.
import { expect, test } from "vitest";
import { runCase } from "./hopper-case.ts";
import { warpProducts } from "./mma-cases.ts";
import { products } from "./wgmma-cases.ts";

test.each([...products, ...warpProducts].map((one) => [one.name, one] as const))(
  "%s",
  (_name, one) => {
    expect(runCase(one)).toEqual(one.expected);
  },
);
