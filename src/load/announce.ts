// The preloaded interposer can be told that a request is about to come. It is called by name, as any
// program of any language would.
import koffi from "koffi";
import { UserError } from "#core";

/** Throws a UserError where no interposer is loaded that has it. */
export function announcer(): (microseconds: number) => void {
  try {
    // Null: among what this process has loaded.
    return koffi.load(null).func("cotenant_announce", "void", ["unsigned int"]);
  } catch {
    throw new UserError(
      "NO_ANNOUNCE",
      'This process has no cotenant_announce to announce requests with: start it under "cotenant run".',
    );
  }
}
