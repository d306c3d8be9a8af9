import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KernelProfile, WorkloadProfile } from "#profile";
import { constants, KernelEntry, KernelTable, kernelClasses, view } from "#protocol";

/** A hash of its content names the file, so clients of one profile share it. */
export function writeKernelTable(profile: WorkloadProfile, gpu: string, folder: string): string {
  const bytes = kernelTable(profile, gpu);
  const path = join(
    folder,
    `${createHash("sha256").update(bytes).digest("hex").slice(0, 32)}.table`,
  );
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fresh = `${path}.${process.pid}.new`;
  writeFileSync(fresh, bytes, { mode: 0o600 });
  renameSync(fresh, path);
  return path;
}

function kernelTable(profile: WorkloadProfile, gpu: string): Uint8Array {
  const entries = [...byKey(profile.kernels)].sort(([a], [b]) => (a < b ? -1 : 1));
  const bytes = new ArrayBuffer(KernelTable.size + entries.length * KernelEntry.size);
  const header = view(KernelTable, bytes);
  header.magic = constants.KERNEL_TABLE_MAGIC;
  header.version = constants.VERSION;
  header.count = entries.length;
  header.soloUs = Math.round((profile.soloNs ?? 0) / 1000);
  header.gpuSharePermille = Math.round(1000 * gpuShareOf(profile));
  header.training = profile.kind === "training" ? 1 : 0;
  header.gpuName = gpu;
  const raw = new DataView(bytes);
  entries.forEach(([key, kernel], i) => {
    const at = KernelTable.size + i * KernelEntry.size;
    const entry = view(KernelEntry, bytes, at);
    // A view's 64-bit fields are numbers, exact to 2^53.
    raw.setBigUint64(at + KernelEntry.offsets.key, key, true);
    entry.class = kernelClasses[kernel.class];
    entry.sms = Math.min(kernel.smsNeeded, profile.gpu.sms);
    entry.durationNs = Math.min(Math.round(kernel.durationNs.p50), 0xffff_ffff);
  });
  return new Uint8Array(bytes);
}

/** A launch does not distinguish kernels of one name and shape, so the longest counts. */
function byKey(kernels: readonly KernelProfile[]): ReadonlyMap<bigint, KernelProfile> {
  const found = new Map<bigint, KernelProfile>();
  for (const kernel of kernels) {
    const key = keyOf(kernel);
    const other = found.get(key);
    if (!other || other.durationNs.p50 < kernel.durationNs.p50) found.set(key, kernel);
  }
  return found;
}

function keyOf({ name, grid, block }: KernelProfile): bigint {
  const shape = new Uint8Array(Uint32Array.from([...grid, ...block]).buffer);
  let hash = 0xcbf2_9ce4_8422_2325n;
  for (const byte of [...new TextEncoder().encode(name), ...shape])
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100_0000_01b3n);
  return hash;
}

function gpuShareOf({ soloNs, kernels, sequence }: WorkloadProfile): number {
  const durations = sequence.map((step) =>
    "kernel" in step ? (kernels[step.kernel]?.durationNs.p50 ?? 0) : 0,
  );
  const busyNs = durations.reduce((sum, ns) => sum + ns, 0);
  return soloNs ? Math.min(busyNs / soloNs, 1) : 0;
}
