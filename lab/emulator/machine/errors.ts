// The emulator's errors. A `KernelError` is thrown inside an instruction; the warp that executes it adds the location
// and makes a UserError of it.
import { UserError } from "#core";

/** Thrown inside an instruction; `lane` is undefined if the error concerns the whole warp. */
export class KernelError extends Error {
  readonly code: string;
  readonly lane: number | undefined;

  constructor(code: string, message: string, lane?: number) {
    super(message);
    this.code = code;
    this.lane = lane;
  }
}

export const outOfBounds = (what: string, address: string, size: number, lane: number) =>
  new KernelError(
    "PTX_OUT_OF_BOUNDS",
    `${what} of ${size} bytes at ${address} is out of bounds`,
    lane,
  );

export const misaligned = (what: string, address: string, size: number, lane: number) =>
  new KernelError(
    "PTX_MISALIGNED",
    `${what} of ${size} bytes at ${address} is not aligned to ${size}`,
    lane,
  );

export const trapped = (lane: number) => new KernelError("PTX_TRAP", "trap", lane);

/** The location of an instruction; `line` counts from 1. */
export interface Location {
  readonly func: string;
  readonly line: number;
  readonly text: string;
}

export const atLocation = (error: KernelError, place: Location, thread: string) =>
  new UserError(
    error.code,
    `${place.func}, line ${place.line}: ${error.message} (${thread}): ${place.text}`,
  );

/** The instruction may be valid PTX, but the emulator does not implement it. */
export const notEmulated = (place: Location, why: string) =>
  new UserError(
    "PTX_NOT_EMULATED",
    `${place.func}, line ${place.line}: not emulated: ${place.text} (${why})`,
  );

export const noKernel = (name: string, known: readonly string[]) =>
  new UserError(
    "PTX_NO_KERNEL",
    `The module has no kernel "${name}".`,
    `It has: ${known.join(", ")}.`,
  );

export const badLaunch = (kernel: string, why: string) =>
  new UserError("PTX_BAD_LAUNCH", `${kernel} can't be launched: ${why}.`);

export const deadlock = (kernel: string, waiting: readonly string[]) =>
  new UserError(
    "PTX_DEADLOCK",
    `${kernel} hangs: every thread that is left waits. ${waiting.join("; ")}.`,
  );

export const tooLong = (kernel: string, limit: number, where: string) =>
  new UserError(
    "PTX_TOO_LONG",
    `${kernel} still runs after ${limit} instructions, last at ${where}.`,
    "A loop that waits for something that never comes, or a larger limit is needed.",
  );
