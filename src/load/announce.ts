// Tells the preloaded interposer that a request is about to come. The function is found by its name, as a program in
// any language would find it.
import koffi from "koffi";
import { UserError } from "#core";

/** Throws a UserError if no interposer with this function is loaded. */
export function announcer(): (microseconds: number) => void {
  try {
    // Null: searches all libraries that this process has loaded.
    return koffi.load(null).func("cotenant_announce", "void", ["unsigned int"]);
  } catch {
    throw new UserError(
      "NO_ANNOUNCE",
      'This process has no cotenant_announce to announce requests with: start it under "cotenant run".',
    );
  }
}
