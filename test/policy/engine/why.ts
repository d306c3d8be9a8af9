import { played } from "#llm-model";
import { at, fast, limitsAlone } from "./shapes.ts";
const [perS, seed] = process.argv.slice(2).map(Number) as [number, number];
const alone = at(fast, () => perS, { seconds: 1000, seed });
const run = { ...alone, limits: limitsAlone(alone) };
const q = (v: number[]) => { const s = v.toSorted((a, b) => a - b); return s[Math.min(s.length - 1, Math.ceil(0.99 * s.length) - 1)]!; };
const strict = played({ ...run, fixed: "strict" }), ours = played(run);
for (let from = 30_000; from + 10_000 <= 1_000_000; from += 10_000) {
  const w = (o: typeof ours) => o.served.filter((r) => r.arrivedMs >= from && r.arrivedMs < from + 10_000);
  const a = w(ours), s = w(strict);
  const f = (k: "ttft" | "tpot") => { const l = run.limits[k]!; return [1000 * q(a.map((r) => r[k])) / l, 1000 * q(s.map((r) => r[k])) / l] as const; };
  const [t, p] = [f("ttft"), f("tpot")];
  if (t[0] > 1 || p[0] > 1) {
    const looks = ours.looks.filter((l) => l.at * 1000 >= from && l.at * 1000 < from + 12_000);
    const before = ours.looks.filter((l) => l.at * 1000 >= from - 20_000 && l.at * 1000 < from);
    const m = (x: number[]) => (x.reduce((u, v) => u + v, 0) / x.length).toFixed(3);
    console.log(from / 1000, "ttft", t.map((x) => x.toFixed(2)).join("/"), "tpot", p.map((x) => x.toFixed(2)).join("/"), "kept", m(looks.map((l) => l.kept)), "before", m(before.map((l) => l.kept)), "batch", Math.max(...looks.map((l) => l.batch)), "before", Math.max(...before.map((l) => l.batch)), "n", a.length);
  }
}
