// The tables of docs/results/prediction.md that are of the H200's nine pairs.
import { BUSY_LINE } from "./busy-line.ts";
import { type ByName, lines, percent, type Row, read } from "./table-lines.ts";

interface OnH200 {
  readonly errorService: number;
  readonly errorTraining: number;
  readonly rankService: number;
  readonly regret: number;
  readonly covered: number;
  readonly familiar: number;
  readonly predicted: readonly Predicted[];
}

interface Predicted {
  readonly service: string;
  readonly training: string;
  /** Retained throughput of the service and of the training. */
  readonly retained: readonly [number, number];
}

interface H200Result {
  readonly measured: readonly Predicted[];
  readonly fromKace: ByName<OnH200>;
  readonly accountOfBlocks: OnH200;
  readonly leftOut: ByName<{ readonly serviceLeftOut: OnH200; readonly trainingLeftOut: OnH200 }>;
}

const result = () => read("2026-11-30-predict-h200") as unknown as H200Result;

/** Each pair as measured, and what its service was predicted to retain. */
export function h200Pairs(): string[] {
  const { measured, fromKace, accountOfBlocks, leftOut } = result();
  const predictors = [
    fromKace.ours,
    accountOfBlocks,
    leftOut.ours?.serviceLeftOut,
    leftOut.ours?.trainingLeftOut,
  ];
  return lines(
    [
      "service",
      "training",
      "service retains",
      "training retains",
      "of KACE's pairs, ours",
      "account of blocks",
      "ours, service left out",
      "ours, training left out",
    ],
    measured.map(({ service, training, retained }) => [
      service,
      training,
      ...retained.map((one) => one.toFixed(2)),
      ...predictors.map((of) => {
        const found = of?.predicted.find(
          (one) => one.service === service && one.training === training,
        );
        if (!found) throw new Error(`nothing predicted of ${service} and ${training}`);
        return found.retained[0].toFixed(2);
      }),
    ]),
  );
}

/** Errors, order and regret of each predictor over all pairs. */
export function h200Predictors(): string[] {
  const { fromKace, accountOfBlocks, leftOut } = result();
  const row = (title: string, one: OnH200 | undefined, statesBounds = true): Row => {
    if (!one) throw new Error(`nothing of ${title}`);
    const rank = one.rankService.toFixed(2);
    return [
      title,
      one.errorService.toFixed(3),
      one.errorTraining.toFixed(3),
      one.rankService < 0 ? rank : `+${rank}`,
      one.regret.toFixed(2),
      ...(statesBounds ? [percent(one.covered), percent(one.familiar)] : ["", ""]),
    ];
  };
  const without = [BUSY_LINE, "mean of the others"];
  const both = ["ours", "ours without the account", "linear", "ridge", "forest", ...without];
  return lines(
    [
      "",
      "error, service",
      "error, training",
      "rank correlation",
      "regret",
      "within bounds",
      "known to be like what was learned",
    ],
    [
      ...["ours", "linear", "forest"].map((name) =>
        row(`${name}, of KACE's 102 pairs`, fromKace[name]),
      ),
      row("account of blocks, nothing learned", accountOfBlocks, false),
      ...both.flatMap((name) => {
        const bounds = !without.includes(name);
        return [
          row(`${name}, service left out`, leftOut[name]?.serviceLeftOut, bounds),
          row(`${name}, training left out`, leftOut[name]?.trainingLeftOut, bounds),
        ];
      }),
    ],
  );
}
