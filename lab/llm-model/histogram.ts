// A histogram as vLLM has it, with its bounds (vLLM 0.12, vllm/v1/metrics/loggers.py).

export const TTFT_S: readonly number[] = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
export const TOKEN_S: readonly number[] = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
export const REQUEST_S: readonly number[] = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];

export class Counted {
  readonly name: string;
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(name: string, bounds: readonly number[]) {
    this.name = name;
    this.#bounds = bounds;
    this.#counts = [...bounds.map(() => 0), 0];
  }

  observe(seconds: number): void {
    const at = this.#bounds.findIndex((bound) => seconds <= bound);
    const bucket = at < 0 ? this.#bounds.length : at;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += seconds;
  }

  read() {
    let all = 0;
    const upTo = new Map(
      [...this.#bounds, Number.POSITIVE_INFINITY].map((bound, i) => {
        all += this.#counts[i] ?? 0;
        return [bound, all] as const;
      }),
    );
    return { upTo, sum: this.#sum, count: upTo.get(Number.POSITIVE_INFINITY) ?? 0 };
  }

  /** In Prometheus' text format. */
  lines(): readonly string[] {
    const { upTo, sum } = this.read();
    const le = (bound: number) => (Number.isFinite(bound) ? String(bound) : "+Inf");
    return [
      ...[...upTo].map(([bound, n]) => `${this.name}_bucket{le="${le(bound)}"} ${n}`),
      `${this.name}_sum ${sum}`,
    ];
  }
}
