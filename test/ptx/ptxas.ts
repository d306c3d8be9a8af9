// NVIDIA's assembler, for tests and the bench: what we print must be what it reads.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parse, targetOf } from "#ptx";

export const hasPtxas = (): boolean => spawnSync("ptxas", ["--version"]).status === 0;

export interface Assembled {
  /** Undefined: it was refused. */
  readonly cubin: Buffer | undefined;
  /** The output of ptxas: errors, or the registers of each kernel. */
  readonly said: string;
}

/** Assembles for the text's own target, always under the same name, which the machine code contains. */
export function assemble(ptx: string): Assembled {
  const folder = mkdtempSync(join(tmpdir(), "cotenant-ptxas-"));
  try {
    writeFileSync(join(folder, "k.ptx"), ptx, "latin1");
    const arch = `-arch=${targetOf(parse(ptx)).name}`;
    // -c: functions of the device runtime stay to be linked.
    const words = ["-c", "-v", arch, "k.ptx", "-o", "k.cubin"];
    const { status, stderr } = spawnSync("ptxas", words, { cwd: folder, encoding: "utf8" });
    const cubin = status === 0 ? readFileSync(join(folder, "k.cubin")) : undefined;
    return { cubin, said: stderr };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * The instructions and constants of a cubin, by section. The whole file also has names and debug sections, in
 * which ptxas puts line numbers of the PTX.
 */
function machineCode(cubin: Buffer): ReadonlyMap<string, Buffer> {
  // ELF64, little-endian: the table of sections, and the section of their names.
  const table = Number(cubin.readBigUInt64LE(0x28));
  const size = cubin.readUInt16LE(0x3a);
  const count = cubin.readUInt16LE(0x3c);
  const section = (index: number) => {
    const at = table + index * size;
    const from = Number(cubin.readBigUInt64LE(at + 24));
    const bytes = cubin.subarray(from, from + Number(cubin.readBigUInt64LE(at + 32)));
    return { name: cubin.readUInt32LE(at), bytes };
  };
  const names = section(cubin.readUInt16LE(0x3e)).bytes;
  const found = new Map<string, Buffer>();
  for (let i = 0; i < count; i += 1) {
    const { name, bytes } = section(i);
    const text = names.toString("latin1", name, names.indexOf(0, name));
    if (/^\.(text|nv\.constant)/.test(text)) found.set(text, bytes);
  }
  return found;
}

/** Are instructions and constants the same? */
export function sameCode(one: Buffer | undefined, other: Buffer | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return machineCode(one).size === machineCode(other).size && keepsCode(one, other);
}

/** Is all of it in the other, too, which may have more? */
export function keepsCode(one: Buffer | undefined, other: Buffer | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  const [a, b] = [machineCode(one), machineCode(other)];
  return a.size > 0 && [...a].every(([name, bytes]) => b.get(name)?.equals(bytes));
}

export interface PtxFile {
  readonly corpus: string;
  readonly name: string;
  readonly text: string;
}

/**
 * Every corpus that is there: our own kernels, those that Triton generated (COTENANT_DATA has more), what
 * workloads/triton_kernels.py has captured (COTENANT_CAPTURED has more), and in each folder of COTENANT_CORPORA one more.
 */
export function corpora(): readonly PtxFile[] {
  const { COTENANT_DATA: data = "test/data" } = process.env;
  const { COTENANT_CAPTURED: captured = "test/ptx/corpus/triton" } = process.env;
  const { COTENANT_CORPORA: more } = process.env;
  return [
    ...folder("own, sm_80", "test/ptx/corpus/ptx/sm_80"),
    ...folder("own, sm_90", "test/ptx/corpus/ptx/sm_90"),
    ...folder("Triton", join(data, "ptx-triton")),
    ...folder("Triton, captured", captured),
    ...(more === undefined
      ? []
      : readdirSync(more)
          .sort()
          .flatMap((name) => folder(name, join(more, name)))),
  ];
}

function folder(corpus: string, path: string): PtxFile[] {
  if (!existsSync(path)) return [];
  const names = readdirSync(path, { recursive: true, encoding: "utf8" });
  const files = names.filter((one) => one.endsWith(".ptx"));
  return files.sort().map((one) => ({
    corpus,
    name: basename(one, ".ptx"),
    text: readFileSync(join(path, one), "latin1"),
  }));
}
