// The profiles that come with Cotenant, damaged as files may be.
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { UserError } from "#core";
import { parseProfile } from "./model/document.ts";

const folder = new URL("../../bench/profiles/h200/", import.meta.url);
const shipped = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => ({ name, text: readFileSync(new URL(name, folder), "utf8") }));

/** Why the text is refused; undefined if it is a profile. Any other error fails the test. */
function refusal(text: string): string | undefined {
  try {
    parseProfile(text, "damaged.json");
    return undefined;
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
}

test("there are profiles to damage", () => {
  expect(shipped.length).toBeGreaterThan(5);
});

describe.each(shipped)("$name", ({ text }) => {
  test("cut short anywhere is refused, with the line on which it ends", () => {
    fc.assert(
      fc.property(fc.nat(text.trimEnd().length - 1), (at) => {
        const cut = text.slice(0, at);
        const line = cut.split("\n").length;
        expect(refusal(cut)).toMatch(new RegExp(`^damaged.json, line ${line}\\b.*: it `));
      }),
    );
  });

  test("with text changed anywhere is read, or refused with a sentence", () => {
    const other = fc.oneof(
      fc.string({ maxLength: 3 }),
      fc.constantFrom("\\", '"', "{", "]", ",", "\n", "-", "1e999", "null", "[[", "\\u12", "\0"),
    );
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.nat(4), other, (at, without, instead) => {
        const changed = text.slice(0, at) + instead + text.slice(at + without);
        expect(refusal(changed) ?? "damaged.json: it is fine.").toMatch(
          /^damaged\.json.*: .*\.$|\?$/,
        );
      }),
    );
  });
});

test("every beginning of a profile is refused", () => {
  const [smallest = ""] = shipped.map(({ text }) => text).sort((a, b) => a.length - b.length);
  for (let at = 0; at < 2000; at++) expect(refusal(smallest.slice(0, at))).toMatch(/^damaged.json/);
});
