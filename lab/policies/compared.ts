// Policies that only replicate what other systems do, to compare with. They are no choice for a running system.
import type { Policy } from "#policy";

export interface ComparedPolicy extends Policy {
  /** Why it runs on the modelled GPU only. */
  readonly onlyModelled?: string;
}
