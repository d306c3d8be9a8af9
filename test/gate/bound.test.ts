// A share only takes away: what the gate lets go with it, it lets go without it.
import fc from "fast-check";
import { expect, test } from "vitest";
import { withinShare } from "#policy";
import {
  type Rules as AllRules,
  type RuleName,
  ruleNames,
  rules,
  submission,
  whenActive,
} from "#protocol";
import { admit, anyItem, anyView, release, strict } from "./library.ts";

const base = strict as AllRules;
function anyValueOf(name: RuleName): fc.Arbitrary<number> {
  const rule = rules[name];
  if (rule.kind === "flag") return fc.constantFrom(0, 1);
  if (rule.kind === "words") return fc.constantFrom(...Object.values<number>(rule.words));
  return fc.integer({ min: rule.least, max: rule.most });
}
const anyRules: fc.Arbitrary<AllRules> = fc
  .tuple(...ruleNames.map((name) => anyValueOf(name)))
  .map((values) => Object.fromEntries(ruleNames.map((name, i) => [name, values[i]])) as AllRules);
const anyShare = fc.integer({ min: 1, max: 10 }).map((tenths) => tenths / 10);
const anySeen = fc.record({
  isolated: fc.boolean(),
  smCount: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
  high: fc.array(
    fc.record({ name: fc.constant("serve"), burstP50Us: fc.integer({ min: 1, max: 10_000 }) }),
    { maxLength: 2 },
  ),
});
/** For others: what waits for work of its own client is another matter. */
const waits: ReadonlySet<string> = new Set(["high", "paused", "turn"]);

test("whatever the rules are, what waits for a request without a share waits with it", () => {
  fc.assert(
    fc.property(anyRules, anyShare, anySeen, anyView, anyItem, (given, share, seen, view, item) => {
      const stated = { ...given, isolated: seen.isolated ? 1 : 0 };
      const bounded = withinShare(stated, share, seen);
      const ask = (rules: AllRules) =>
        rules.submission === submission.launch ? admit(rules, view, item) : release(rules, view);
      if (waits.has(ask(stated) ?? "")) expect(waits).toContain(ask(bounded));
    }),
    { numRuns: 3000 },
  );
});

const seen = { isolated: false, smCount: 100, high: [] };
const beside = { highRegistered: true, highActive: true };

test("launch by launch a kernel concurrent with a request fits the share of the SMs", () => {
  const launching = { ...base, isolated: 0, submission: submission.launch };
  const rules = withinShare({ ...launching, whenActive: whenActive.allow }, 0.3, seen);
  const answers = [30, 31].map((sms) => admit(rules, beside, { sms }));
  expect(answers).toEqual(["run", "high"]);
});

test("a queue gets the share of the time beside a request", () => {
  const rules = withinShare({ ...base, isolated: 0, whenActive: whenActive.allow }, 0.25, seen);
  const { coRunSliceUs, coRunEveryUs } = rules;
  expect(coRunSliceUs / coRunEveryUs).toBeCloseTo(0.25);
  const at = (progressedUs: number) => release(rules, { ...beside, heldUs: 1e6, progressedUs });
  expect([at(coRunEveryUs - 1), at(coRunEveryUs)]).toEqual(["high", "progress"]);
});
