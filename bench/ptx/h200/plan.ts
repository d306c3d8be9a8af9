// The plan of the GPU runner (runner.cpp), as text: a case is a kernel with its launch, and a file of PTX that has it
// and all its legal variants. One word a line says what follows; buffers are bytes in one file beside.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  blockNumbersIn,
  callGraph,
  type KernelReport,
  legality,
  type Module,
  preempt,
  print,
  type Reason,
  slice,
} from "#ptx";

export type Extent = readonly [number, number, number];

export type PlanArgument =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** Contents from here, or made by the runner: see `fill` there. */
  | { readonly kind: "buffer"; readonly bytes: number; readonly contents: Uint8Array | string }
  /** Bytes with a buffer's address at `at`. */
  | {
      readonly kind: "struct";
      readonly bytes: Uint8Array;
      readonly at: number;
      readonly contents: Uint8Array;
    }
  | {
      readonly kind: "texture";
      readonly width: number;
      readonly height: number;
      readonly texels: Uint8Array;
    };

export interface PlanCase {
  readonly corpus: string;
  readonly file: string;
  readonly kernel: string;
  readonly grid: Extent;
  readonly block: Extent;
  readonly dynamicShared: number;
  readonly args: readonly PlanArgument[];
  /** Its machine code as another assembler made it, to be compared with. */
  readonly cubin?: Uint8Array;
  /**
   * How it is made to last: "none": it is not; "grow": more blocks in x and all buffers larger by the same factor,
   * and with them the argument `grows`, if there is one. Left out: its grid is repeated.
   */
  readonly long?: "none" | { readonly grows: number };
}

export interface Refused {
  readonly corpus: string;
  readonly file: string;
  readonly kernel: string;
  readonly slice: readonly Reason[];
  readonly preempt: readonly Reason[];
}

/** Collects cases and writes the folder that the runner reads. */
export class Plan {
  private readonly folder: string;
  readonly refused: Refused[] = [];
  /** Kernels that are not launched, and why. */
  readonly left: { readonly corpus: string; readonly kernel: string; readonly why: string }[] = [];
  private readonly lines: string[] = [];
  private readonly blob: Buffer[] = [];
  private readonly modules = new Map<string, readonly KernelReport[]>();
  private blobBytes = 0;
  private cases = 0;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** A module with its variants, once; the reports of its kernels. */
  module(corpus: string, file: string, module: Module): readonly KernelReport[] {
    const known = this.modules.get(`${corpus}/${file}`);
    if (known !== undefined) return known;
    const reports = legality(module);
    for (const { kernel, slice, preempt } of reports)
      if (!slice.legal || !preempt.legal)
        this.refused.push({
          corpus,
          file,
          kernel,
          slice: slice.reasons,
          preempt: preempt.reasons,
        });
    writeFileSync(this.path(corpus, file), print(slice(preempt(module))), "latin1");
    this.modules.set(`${corpus}/${file}`, reports);
    return reports;
  }

  add(one: PlanCase, module: Module): void {
    const report = this.module(one.corpus, one.file, module).find(
      ({ kernel }) => kernel === one.kernel,
    );
    if (report === undefined) throw new Error(`${one.file} has no kernel ${one.kernel}`);
    const { wholeWarps } = report.preempt;
    const variants = [
      report.slice.legal ? "slice" : "",
      report.preempt.legal && !(wholeWarps && one.block[0] % 32 !== 0) ? "preempt" : "",
    ].filter((name) => name !== "");
    if (variants.length === 0) return;
    const axes = axesOf(module, one.kernel);
    this.cases += 1;
    this.lines.push(
      `case ${one.corpus}/${one.file}/${one.kernel}`,
      `file ${this.path(one.corpus, one.file).slice(this.folder.length + 1)}`,
      `kernel ${one.kernel}`,
      `grid ${one.grid.join(" ")}`,
      `block ${one.block.join(" ")}`,
      `shared ${one.dynamicShared}`,
      `repeat ${typeof one.long === "object" ? `grow ${one.long.grows}` : (one.long ?? axes)}`,
      `variants ${variants.join(" ")}`,
      ...(one.cubin === undefined ? [] : [`cubin ${this.cubin(one, one.cubin)}`]),
      ...one.args.map((arg) => this.argument(arg)),
      "end",
    );
  }

  write(): number {
    writeFileSync(join(this.folder, "plan.txt"), `${this.lines.join("\n")}\n`);
    writeFileSync(join(this.folder, "inputs.bin"), Buffer.concat(this.blob));
    const { refused, left } = this;
    writeFileSync(
      join(this.folder, "refused.json"),
      `${JSON.stringify({ refused, left }, undefined, 1)}\n`,
    );
    return this.cases;
  }

  private cubin({ corpus, file }: PlanCase, bytes: Uint8Array): string {
    writeFileSync(join(this.folder, `${corpus}-${file}.cubin`), bytes);
    return `${corpus}-${file}.cubin`;
  }

  private path(corpus: string, file: string): string {
    return join(this.folder, `${corpus}-${file}.ptx`);
  }

  private argument(arg: PlanArgument): string {
    switch (arg.kind) {
      case "bytes":
        return `bytes ${Buffer.from(arg.bytes).toString("hex")}`;
      case "buffer":
        return typeof arg.contents === "string"
          ? `buffer ${arg.bytes} ${arg.contents}`
          : `buffer ${arg.bytes} at ${this.put(arg.contents)}`;
      case "struct":
        return `struct ${Buffer.from(arg.bytes).toString("hex")} ${arg.at} ${arg.contents.length} at ${this.put(arg.contents)}`;
      case "texture":
        return `texture ${arg.width} ${arg.height} at ${this.put(arg.texels)}`;
    }
  }

  private put(bytes: Uint8Array): number {
    const at = this.blobBytes;
    this.blob.push(Buffer.from(bytes));
    this.blobBytes += bytes.length;
    return at;
  }
}

/** The axis along which a kernel's grid can be repeated so that each repetition does the same again: one not read. */
function axesOf(module: Module, kernel: string): string {
  const func = module.items.find(
    (item) => item.kind === "function" && item.entry && item.name === kernel,
  );
  if (func?.kind !== "function") return "z";
  const read = new Set(
    callGraph(func, module).functions.flatMap((one) => [...blockNumbersIn(one)]),
  );
  return ["z", "y", "x"].find((axis) => !read.has(`%ctaid.${axis}`)) ?? "z";
}
