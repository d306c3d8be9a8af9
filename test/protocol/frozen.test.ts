// Shared memory and messages grow by appending only, so that an agent serves clients of other releases, and the other way
// round (docs/design/decisions/0030). frozen.json has the layout of revision 0 of this version.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { constants, extent, messageStructs, ruleNames, sharedStructs } from "#protocol";

interface Frozen {
  readonly version: number;
  readonly structs: Readonly<
    Record<
      string,
      {
        readonly size: number;
        readonly fields: Readonly<Record<string, readonly [number, number]>>;
      }
    >
  >;
}

const frozen = JSON.parse(readFileSync(`${import.meta.dirname}/frozen.json`, "utf8")) as Frozen;
const structs = [...sharedStructs, ...messageStructs];

test("this is the layout of the version that is frozen", () => {
  expect(frozen.version).toBe(constants.VERSION);
  expect(structs.map(({ name }) => name)).toEqual(Object.keys(frozen.structs));
});

test.each(structs.map((struct) => [struct.name, struct] as const))(
  "%s has its size, and each frozen field its place",
  (name, { size, fields, offsets }) => {
    const was = frozen.structs[name];
    expect(size).toBe(was?.size);
    const now = Object.fromEntries(
      Object.entries(fields).map(([field, described]) => [
        field,
        [(offsets as Record<string, number>)[field], extent(described).size],
      ]),
    );
    expect(now).toMatchObject(was?.fields ?? {});
  },
);

test("parameters of the gate are appended: the frozen ones come first, in their order", () => {
  const order = Object.keys(frozen.structs.Settings?.fields ?? {}).slice(1);
  expect(ruleNames.slice(0, order.length)).toEqual(order);
});
