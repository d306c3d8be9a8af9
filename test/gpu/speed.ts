// How fast the model is: kernels and events a second of this machine, by arrangement. `npx tsx test/gpu/speed.ts`
import { arrangementNamed, runWindow } from "#gpu";
import { type KernelShape, workload } from "./example.ts";
import { arrivals } from "./quantiles.ts";

const kernels = (count: number, of: (i: number) => KernelShape) =>
  Array.from({ length: count }, (_, i) => of(i));
const request = workload(
  "714 short kernels",
  kernels(714, (i) => ({ us: i % 7 === 0 ? 8.2 : 2.7, sms: i % 7 === 0 ? 128 : 64 })),
  { kind: "inference", soloNs: 3.11e6 },
);
const training = workload(
  "3,634 kernels",
  kernels(3634, (i) => ({
    us: i % 3 === 0 ? 60 : 14.5,
    sms: 132 * (i % 3 === 0 ? 3 : 4),
    memory: 0.5,
  })),
  { soloNs: 127.5e6 },
);
const seconds = 20;
const high = {
  profile: request,
  submission: "graph",
  arrivalsNs: arrivals(seconds, 5, 25),
} as const;
const bestEffort = [{ profile: training, submission: "kernels" }] as const;

for (const name of [
  "solo",
  "alone",
  "time-slicing",
  "mps-priority",
  "strict-isolated",
  "strict-mps",
  "strict-mps:submission=launch,chunkUs=50",
]) {
  const begun = process.hrtime.bigint();
  const { events, kernels: done } = runWindow({
    arrangement: arrangementNamed(name),
    high,
    bestEffort,
    seconds,
  });
  const took = Number(process.hrtime.bigint() - begun) / 1e9;
  const millions = (n: number) => (n / took / 1e6).toFixed(2).padStart(6);
  console.log(
    `${name.padEnd(42)} ${millions(events)} M events/s ${millions(done)} M kernels/s ${(seconds / took).toFixed(0).padStart(5)} x real time`,
  );
}
