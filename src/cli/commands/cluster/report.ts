import { table } from "#core";
import { type WorthOfNamespace, worthOf } from "#kubernetes";
import { askCluster } from "./asking.ts";
import type { Options } from "./options.ts";

/** `namespace` is undefined for all. */
export async function showReport(namespace: string | undefined, args: Options): Promise<number> {
  const weeks = await askCluster(args, (api) => worthOf(api, namespace, args.weeks));
  console.log(args.json ? JSON.stringify(weeks, null, 2) : textOf(weeks));
  return 0;
}

function textOf(weeks: readonly WorthOfNamespace[]): string {
  if (weeks.length === 0)
    return "Nothing was recovered yet. A report is written five minutes after pods began to share GPUs.";
  const namespaces = weeks.map(({ week, namespace, recoveredGpuHours, evictions }) => [
    ...[week, namespace, recoveredGpuHours.toFixed(1)],
    Object.entries(evictions)
      .map(([cause, count]) => `${count} ${cause}`)
      .join(", ") || "none",
  ]);
  const services = weeks.flatMap(({ week, namespace, services: all }) =>
    all.map(({ name, sharedHours, slowdownP50, slowdownP99 }) => [
      ...[week, `${namespace}/${name}`, sharedHours.toFixed(1)],
      ...[slowerBy(slowdownP50), slowerBy(slowdownP99)],
    ]),
  );
  return [
    ...table(
      [["week", "namespace", "GPU-hours recovered", "evictions"], ...namespaces],
      [true, true, false, true],
    ),
    ...(services.length === 0
      ? []
      : [
          "",
          ...table([["week", "service", "hours shared", "slower by, p50", "p99"], ...services], 2),
        ]),
  ].join("\n");
}

/** A step of slowdown factors is an upper bound. */
const slowerBy = (factor: number): string =>
  factor === 1 ? "0 %" : `<= ${Math.round(100 * (factor - 1))} %`;
