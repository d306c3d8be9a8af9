import type { Rules } from "#protocol";
import {
  type Look,
  type Memory,
  type Observed,
  type Overrides,
  type Policy,
  withOverrides,
} from "./policy.ts";

export class PolicyLoop {
  readonly #policy: Policy;
  readonly #overrides: Overrides;
  #memory: Memory | undefined;

  constructor(policy: Policy, overrides: Overrides = {}) {
    this.#policy = policy;
    this.#overrides = overrides;
  }

  /** undefined before the first sample, and always for a policy that does not learn. */
  get memory(): Memory | undefined {
    return this.#memory;
  }

  /** `look` is called for a policy that learns. */
  remember(look: () => Look): void {
    if (this.#policy.remember) this.#memory = this.#policy.remember(look(), this.#memory);
  }

  rules(seen: Observed): Rules {
    return withOverrides(this.#policy.rules(seen, this.#memory), this.#overrides);
  }
}
