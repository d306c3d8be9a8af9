import { unknownGpu } from "../model/errors.ts";
import { type GpuDescription, gpuNamed, gpus, ridgePoint } from "../model/gpus.ts";
import type { ProfiledGpu, WorkloadKind } from "../model/types.ts";

export interface About {
  readonly name: string;
  readonly kind: WorkloadKind;
  readonly file: string;
  readonly source: string;
  readonly gpu?: string;
  /** It is the latency of a request or time of an iteration, alone and without a profiler. */
  readonly soloNs?: number;
}

export interface SaidOfGpu {
  readonly name?: string;
  readonly computeCapability?: string;
  readonly sms?: number;
}

export interface KnownGpu {
  readonly gpu: ProfiledGpu;
  readonly ridge?: number;
}

/** A GPU that the user names has precedence, but must have the file's compute capability. */
export function gpuOf({ file, gpu: given }: About, said: SaidOfGpu): KnownGpu {
  const known = gpuGiven(file, given) ?? gpuNamed(said.name ?? "");
  const capability = said.computeCapability ?? known?.computeCapability;
  if (known && capability !== known.computeCapability)
    throw unknownGpu(
      file,
      `it was recorded on compute capability ${capability}, which ${known.short} does not have`,
      gpusOf(capability),
    );
  const name = given === undefined ? (said.name ?? known?.names[0]) : known?.names[0];
  const sms = said.sms ?? known?.sms;
  if (name === undefined || capability === undefined || sms === undefined)
    throw unknownGpu(file, "it does not say which GPU it was recorded on", gpusOf(capability));
  return {
    gpu: { name, computeCapability: capability, sms },
    ...(known && { ridge: ridgePoint(known) }),
  };
}

function gpuGiven(file: string, name: string | undefined): GpuDescription | undefined {
  if (name === undefined) return undefined;
  const gpu = gpuNamed(name);
  if (!gpu) throw unknownGpu(file, `no GPU called "${name}" is known`, gpusOf(undefined));
  return gpu;
}

const gpusOf = (capability: string | undefined): readonly string[] => {
  const fitting = gpus.filter(
    ({ computeCapability }) => capability === undefined || computeCapability === capability,
  );
  return (fitting.length > 0 ? fitting : gpus).map(({ short }) => short);
};
