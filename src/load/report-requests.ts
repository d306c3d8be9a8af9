// Functions of the preloaded interposer are found by their names, as in a program of any language.
import koffi from "koffi";
import { UserError } from "#core";

/** Only the interposer distinguishes handles. */
export interface RequestReporter {
  begin(): number | bigint;
  progress(request: number | bigint, units: number): void;
  end(request: number | bigint): void;
}

/** Throws a UserError if no interposer with this function is loaded. */
export const announcer = (): ((microseconds: number) => void) =>
  native("cotenant_announce", "void", ["unsigned int"]);

export const requestReporter = (): RequestReporter => ({
  begin: native("cotenant_request_begin", "uint64_t", []),
  progress: native("cotenant_request_progress", "void", ["uint64_t", "unsigned int"]),
  end: native("cotenant_request_end", "void", ["uint64_t"]),
});

function native(name: string, result: string, takes: string[]) {
  try {
    // null searches all libraries that this process has loaded.
    return koffi.load(null).func(name, result, takes);
  } catch {
    throw new UserError(
      "NO_INTERPOSER",
      `This process has no ${name}, which tells Cotenant of requests: start it under "cotenant run".`,
    );
  }
}
