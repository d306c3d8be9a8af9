import { micros, percent } from "#core";
import { summaryOf, type WorkloadProfile } from "#profile";

const classNames = ["compute", "memory", "unknown"] as const;

export const time = (ns: number | undefined): string => micros(ns === undefined ? ns : ns / 1000);

export function summaryText(profile: WorkloadProfile): string {
  const { name, kind, gpu, launches, distinct, kernelNs, sms, smsOfGpu, classes, soloNs } =
    summaryOf(profile);
  const mix = classNames
    .filter((one) => classes[one] > 0)
    .map((one) => `${one} ${percent(classes[one])}`);
  return [
    `${name}, ${kind} on ${gpu}`,
    `${launches} kernels, ${distinct} distinct, ${time(kernelNs)} in all`,
    ...(soloNs === undefined ? [] : [`${time(soloNs)} alone`]),
    `${sms.toFixed(0)} of ${smsOfGpu} SMs`,
    mix.join(", "),
  ].join("; ");
}
