// See https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/.

const factors: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};

/** It is NaN for a text that is no quantity, which the API server does not let through. */
export function quantity(text: string): number {
  const [, number = "", suffix = ""] =
    /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]{0,2})$/.exec(text) ?? [];
  return number === "" ? Number.NaN : Number(number) * (factors[suffix] ?? Number.NaN);
}
