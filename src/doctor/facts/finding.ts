/** warn: perhaps on purpose. fail: Cotenant can't do its work. skip: it can't be tried here. */
export type Verdict = "pass" | "warn" | "fail" | "skip";

export interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  readonly says: string;
  /** It is empty where no cure is needed. */
  readonly cure: string;
}

export const pass = (check: string, says: string): Finding => ({
  check,
  verdict: "pass",
  says,
  cure: "",
});

export const skip = (check: string, says: string): Finding => ({
  check,
  verdict: "skip",
  says,
  cure: "",
});

export const warn = (check: string, says: string, cure: string): Finding => ({
  check,
  verdict: "warn",
  says,
  cure,
});

export const fail = (check: string, says: string, cure: string): Finding => ({
  check,
  verdict: "fail",
  says,
  cure,
});
