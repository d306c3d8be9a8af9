// A client's request can only be refused with a reason; but it may take long, so a process apart
// makes variants (queue.ts).
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { errors, UserError } from "#core";
import { VariantRequest, view } from "#protocol";
import {
  extractKernel,
  isFatBinary,
  LONGEST_TEXT,
  legality,
  parse,
  preempt,
  print,
  ptxOf,
  slice,
} from "#ptx";
import { createMemoryFile } from "../system/index.ts";
import type { VariantStore, Variants } from "./store.ts";

/** A client keeps no larger images. */
const LONGEST_REQUEST = 8 * 2 ** 20 + 4096;
export type Made = { readonly fd: number; readonly wholeWarps: boolean } | Refused;

interface Refused {
  readonly reason: string;
}

export function makeVariants(path: string, store: VariantStore): Made {
  try {
    const { kernel, image } = readRequest(path);
    const variants = store.of(kernel, image, () => variantsOf(kernel, image));
    if ("reason" in variants) return { reason: `${variants.reason}.` };
    const fd = createMemoryFile("cotenant-variant");
    writeAll(fd, new TextEncoder().encode(variants.ptx));
    return { fd, wholeWarps: variants.wholeWarps };
  } catch (error) {
    return { reason: `The request can't be met: ${errors.whyOf(error)}.` };
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** Invalid PTX is a refusal like any other. */
function variantsOf(kernel: string, image: Uint8Array): Variants {
  try {
    if (kernel === "") return allStoppable(image);
    const text = textOf(image);
    return typeof text === "string" ? stoppable(text, kernel) : text;
  } catch (error) {
    if (error instanceof UserError) return { reason: error.message.replace(/\.$/, "") };
    throw error;
  }
}

/** Throws a PtxError. Other kernels stay unread: neither time nor memory goes into them. */
function stoppable(text: string, kernel: string): Variants {
  const own = extractKernel(parse(text, kernel), kernel);
  if ("reason" in own) return own;
  const report = legality(own).find((one) => one.kernel === kernel);
  const [why] = report?.preempt.reasons ?? [];
  if (!report?.preempt.legal && !report?.slice.legal)
    return { reason: `Line ${why?.line}: ${why?.text}` };
  return { ptx: print(slice(preempt(own))), wholeWarps: report.preempt.wholeWarps };
}

// Each kernel is followed by its variant, for assemblers (native/ptxas). Throws unless the text is
// UTF-8: it could not be given back unchanged.
function allStoppable(image: Uint8Array): Variants {
  const module = parse(new TextDecoder("utf-8", { fatal: true }).decode(image));
  const reports = legality(module).filter(({ preempt, slice }) => preempt.legal || slice.legal);
  if (reports.length === 0) return { reason: "No kernel of the PTX can stop inside" };
  const wholeWarps = reports.some(({ preempt }) => preempt.wholeWarps);
  return { ptx: print(slice(preempt(module))), wholeWarps };
}

/** The driver makes code from the newest PTX, and the client sends only what suits its GPU. */
function textOf(image: Uint8Array): string | Refused {
  if (isFatBinary(image)) {
    const newest = ptxOf(image).at(-1);
    if (!newest) return { reason: "The fat binary has no PTX" };
    const limit = `${LONGEST_TEXT / 2 ** 20} MiB`;
    return (
      newest.text() ?? { reason: `The fat binary's newest PTX is damaged or larger than ${limit}` }
    );
  }
  const end = image.indexOf(0);
  return new TextDecoder().decode(end < 0 ? image : image.subarray(0, end));
}

/** The file is the client's: it may be of any kind, and change at any moment. */
function readRequest(path: string): { readonly kernel: string; readonly image: Uint8Array } {
  const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = constants;
  const fd = openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  try {
    const file = fstatSync(fd);
    const { size } = file;
    if (!file.isFile()) throw new Error("its descriptor is no file");
    if (size < VariantRequest.size) throw new Error(`it has only ${size} bytes`);
    if (size > LONGEST_REQUEST)
      throw new Error(`it has ${size} bytes, more than the ${LONGEST_REQUEST} that may be`);
    const bytes = new Uint8Array(size);
    let read = 0;
    for (let more = -1; more !== 0 && read < size; read += more)
      more = readSync(fd, bytes, read, size - read, read);
    if (read !== size) throw new Error("it became shorter");
    const { nameBytes, imageBytes } = view(VariantRequest, bytes.buffer);
    const imageAt = VariantRequest.size + nameBytes;
    if (imageAt + imageBytes !== size) throw new Error("its lengths do not add up");
    const kernel = new TextDecoder().decode(bytes.subarray(VariantRequest.size, imageAt));
    return { kernel, image: bytes.subarray(imageAt) };
  } finally {
    closeSync(fd);
  }
}
