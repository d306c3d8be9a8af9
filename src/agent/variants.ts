// Makes the forms of kernels that can stop inside, which best-effort clients ask for: from the PTX of the program, by
// the passes of #ptx. Nothing that a client sends can do more here than be refused with a reason.
import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { UserError } from "#core";
import { VariantRequest, view, welcomeStatus } from "#protocol";
import { alone, isFatBinary, legality, parse, preempt, print, ptxOf, slice } from "#ptx";
import { type Form, type Forms, noForms } from "./forms.ts";
import { createMemoryFile } from "./libc.ts";
import { type Reply, refusal } from "./registry.ts";

/** A client keeps no larger images; the agent has other things to do meanwhile. */
const LONGEST_REQUEST = 8 * 2 ** 20 + 4096;

/** The answer's slot: the form is right only for blocks whose x size is a multiple of 32. */
const WHOLE_WARPS = 1;

/**
 * Answers a Hello of kind variant: `path` is the client's memory file. The reply's regionFd is for the client to open
 * while its connection lasts; `done` closes it.
 */
export function answerVariant(
  path: string,
  forms: Forms = noForms,
): { readonly reply: Reply; done(): void } {
  const nothing = () => {};
  try {
    const { kernel, image } = readRequest(path);
    const made = forms.of(kernel, image, () => formOf(kernel, image));
    if ("reason" in made) return { reply: refusal(`${made.reason}.`), done: nothing };
    const fd = createMemoryFile("cotenant-variant");
    writeSync(fd, made.ptx);
    const slot = made.wholeWarps ? WHOLE_WARPS : 0;
    return {
      reply: { status: welcomeStatus.ok, slot, regionFd: fd, reason: "" },
      done: () => closeSync(fd),
    };
  } catch (fault) {
    return { reply: refusal(`The request cannot be read: ${String(fault)}.`), done: nothing };
  }
}

/** What is wrong with the PTX is a refusal like any other. */
function formOf(kernel: string, image: Uint8Array): Form {
  try {
    return kernel === "" ? allStoppable(image) : stoppable(textOf(image), kernel);
  } catch (fault) {
    if (fault instanceof UserError) return { reason: fault.message.replace(/\.$/, "") };
    throw fault;
  }
}

/**
 * One kernel alone with its forms that can stop inside, preemptible and sliced; or why there is none. Throws a PtxError. The rest of the
 * program's module is left out first, other kernels without being read, so that neither time nor shared memory goes into them.
 */
function stoppable(text: string, kernel: string): Form {
  const own = alone(parse(text, kernel), kernel);
  if ("reason" in own) return own;
  const report = legality(own).find((one) => one.kernel === kernel);
  const [why] = report?.preempt.reasons ?? [];
  if (!report?.preempt.legal && !report?.slice.legal)
    return { reason: `Line ${why?.line}: ${why?.text}` };
  return { ptx: print(slice(preempt(own))), wholeWarps: report.preempt.wholeWarps };
}

/**
 * The module with a preemptible form behind each kernel that can have one, for whoever assembles it (native/ptxas).
 * Throws if the text is not UTF-8: it could not be given back as it came.
 */
function allStoppable(image: Uint8Array): Form {
  const module = parse(new TextDecoder("utf-8", { fatal: true }).decode(image));
  const reports = legality(module).filter(({ preempt, slice }) => preempt.legal || slice.legal);
  if (reports.length === 0) return { reason: "No kernel of the PTX can stop inside" };
  const wholeWarps = reports.some(({ preempt }) => preempt.wholeWarps);
  return { ptx: print(slice(preempt(module))), wholeWarps };
}

/** The driver makes code from the newest PTX, and the client sends only what suits its GPU. */
function textOf(image: Uint8Array): string {
  if (isFatBinary(image)) return ptxOf(image).at(-1)?.text ?? "";
  const end = image.indexOf(0);
  return new TextDecoder().decode(end < 0 ? image : image.subarray(0, end));
}

function readRequest(path: string): { readonly kernel: string; readonly image: Uint8Array } {
  const fd = openSync(path, "r");
  try {
    const { size } = fstatSync(fd);
    if (size < VariantRequest.size || size > LONGEST_REQUEST)
      throw new Error(`it has ${size} bytes`);
    const bytes = new Uint8Array(size);
    readSync(fd, bytes, 0, size, 0);
    const { nameBytes, imageBytes } = view(VariantRequest, bytes.buffer);
    const imageAt = VariantRequest.size + nameBytes;
    if (imageAt + imageBytes !== size) throw new Error("its lengths do not add up");
    const kernel = new TextDecoder().decode(bytes.subarray(VariantRequest.size, imageAt));
    return { kernel, image: bytes.subarray(imageAt) };
  } finally {
    closeSync(fd);
  }
}
