import { expect, test } from "vitest";
import { withUserName } from "./identity.ts";

const nameOf = (uid: number) => (uid === 1000 ? "alice" : undefined);

test.each([
  { text: "uid 1000", named: "uid 1000 (alice)" },
  { text: "uid 1000, unit x.service", named: "uid 1000 (alice), unit x.service" },
  { text: "uid 2000, container 0123", named: "uid 2000, container 0123" },
  { text: "uid 10001", named: "uid 10001" },
  { text: "a uid 1000", named: "a uid 1000" },
])("$text is shown as $named", ({ text, named }) => {
  expect(withUserName(text, nameOf)).toBe(named);
});
