// Orion's published profiles on the modelled V100: all of them in COTENANT_DATA, else those in test/data.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { arrangementNamed, modelOf, planOf, runWindow } from "#gpu";
import { readOrionFolder } from "#profile";
import { arrivals, rate, serviceUs } from "./quantiles.ts";

const folder = join(process.env.COTENANT_DATA ?? "test/data", "orion", "model_kernels");
const profiles = readOrionFolder(folder, "eth-easl/orion@aded65d");
const named = (name: string) => {
  const found = profiles.find((profile) => profile.name === name);
  if (!found) throw new Error(name);
  return found;
};

describe("Orion's jobs on the modelled V100", () => {
  test("take alone what their kernels and launches take, within 1 %", () => {
    for (const profile of profiles) {
      const { soloNs } = planOf(profile, modelOf("V100"), "kernels");
      const job = { profile, submission: "kernels" } as const;
      const seconds = Math.max(0.5, (8 * soloNs) / 1e9);
      if (profile.kind === "inference") {
        const solo = runWindow({
          arrangement: arrangementNamed("solo"),
          high: job,
          bestEffort: [],
          seconds,
        });
        expect(serviceUs(solo, 0.5) / (soloNs / 1000)).toBeCloseTo(1, 2);
      } else {
        const { doneNs } = runWindow({
          arrangement: arrangementNamed("alone"),
          bestEffort: [job],
          seconds,
        });
        const done = doneNs[0] ?? [];
        const each = ((done.at(-1) ?? 0) - (done[1] ?? 0)) / (done.length - 2);
        expect(each / soloNs).toBeCloseTo(1, 2);
      }
    }
  });

  test("a request beside a training: worst without a gate, best while it is active alone", () => {
    const high = {
      profile: named("resnet50_4_fwd"),
      submission: "kernels",
      arrivalsNs: arrivals(5, 30, 100),
    } as const;
    const bestEffort = [{ profile: named("resnet50_32_fb1"), submission: "kernels" }] as const;
    const of = (name: string) =>
      runWindow({ arrangement: arrangementNamed(name), high, bestEffort, seconds: 5 });
    const solo = serviceUs(of("solo"), 0.5);
    const alone = rate(of("alone"));
    const mps = of("mps");
    const strict = of("strict-mps");
    expect(serviceUs(mps, 0.5) / solo).toBeGreaterThan(2);
    expect(serviceUs(strict, 0.5) / solo).toBeLessThan(1.2);
    expect(rate(mps)).toBeLessThanOrEqual(alone * 1.01);
    expect(rate(strict) / alone).toBeGreaterThan(0.75);
  });
});
