// Training ends when the error on held-back rows grows.

import { type Random, shuffle } from "#core";
import { meanOf, type Regressor } from "./regressor.ts";

interface NetworkShape {
  readonly hidden: readonly number[];
  readonly optimizer: "adam" | "momentum";
  readonly rate: number;
  readonly epochs: number;
  readonly patience: number;
}

/** KACE, section 5.1, has a 3-layer 128 x 64 x 32 network with early stopping. */
export const kaceNetwork: NetworkShape = {
  hidden: [128, 64, 32],
  optimizer: "adam",
  rate: 1e-3,
  epochs: 400,
  patience: 30,
};

/** MuxFlow, section 6, has four layers of 64 and momentum SGD. */
export const muxflowMlp: NetworkShape = {
  hidden: [64, 64, 64, 64],
  optimizer: "momentum",
  rate: 0.01,
  epochs: 150,
  patience: 20,
};

interface Layer {
  readonly inputs: number;
  readonly outputs: number;
  /** Each output has a row of weights, with its bias at the end. */
  readonly weights: Float64Array;
}

export interface NetworkState {
  readonly layers: readonly { readonly inputs: number; readonly weights: readonly number[] }[];
  readonly centre: number;
  readonly spread: number;
}

const BATCH = 32;
const HELD_BACK = 0.2;

export const network = (shape: NetworkShape): Regressor<NetworkState> => ({
  learn(x, y, random, told) {
    const centre = meanOf(y);
    const spread = Math.sqrt(meanOf(y.map((value) => (value - centre) ** 2))) || 1;
    const wanted = y.map((value) => (value - centre) / spread);
    const order = shuffle([...y.keys()], random);
    const back = Math.round(HELD_BACK * order.length);
    const [held, learned] = [order.slice(0, back), order.slice(back)];
    const layers = initial(x[0]?.length ?? 0, shape.hidden, random);
    const trainer = training(layers, shape);
    const error = (rows: readonly number[]) =>
      rows.reduce(
        (sum, i) => sum + (trainer.output(x[i] as Float64Array) - (wanted[i] as number)) ** 2,
        0,
      );
    let best = { error: Number.POSITIVE_INFINITY, epoch: 0, weights: copies(layers) };
    for (let epoch = 0; epoch < shape.epochs && epoch - best.epoch <= shape.patience; epoch++) {
      const mixed = shuffle(learned, random);
      for (let from = 0; from < mixed.length; from += BATCH)
        trainer.step(x, wanted, mixed.slice(from, from + BATCH));
      const now = error(held.length > 0 ? held : learned);
      if (now < best.error) best = { error: now, epoch, weights: copies(layers) };
      told?.((epoch + 1) / shape.epochs);
    }
    return {
      layers: layers.map(({ inputs }, l) => ({
        inputs,
        weights: [...(best.weights[l] ?? [])].map(short),
      })),
      centre,
      spread,
    };
  },
  open: ({ layers, centre, spread }) => {
    const opened = layers.map(({ inputs, weights }) => ({
      inputs,
      outputs: weights.length / (inputs + 1),
      weights: Float64Array.from(weights),
    }));
    const values = opened.map(({ outputs }) => new Float64Array(outputs));
    return (row) => centre + spread * pass(opened, values, row);
  },
});

/** Fewer digits are enough and halve the file. */
const short = (weight: number): number => Number(weight.toPrecision(7));
const copies = (layers: readonly Layer[]) => layers.map(({ weights }) => weights.slice());

/** Initial weights have the variance 2/inputs (He et al., 2015); here they are uniform. */
function initial(width: number, hidden: readonly number[], random: Random): readonly Layer[] {
  const widths = [width, ...hidden, 1];
  return widths.slice(1).map((outputs, l) => {
    const inputs = widths[l] as number;
    const bound = Math.sqrt(6 / Math.max(1, inputs));
    const weights = new Float64Array(outputs * (inputs + 1)).map((_, k) =>
      k % (inputs + 1) === inputs ? 0 : (2 * random() - 1) * bound,
    );
    return { inputs, outputs, weights };
  });
}

function pass(
  layers: readonly Layer[],
  values: readonly Float64Array[],
  row: Float64Array,
): number {
  let input = row;
  for (let l = 0; l < layers.length; l++) {
    const { inputs, outputs, weights } = layers[l] as Layer;
    const output = values[l] as Float64Array;
    const rectified = l < layers.length - 1;
    for (let o = 0; o < outputs; o++) {
      const from = o * (inputs + 1);
      let sum = weights[from + inputs] as number;
      for (let k = 0; k < inputs; k++) sum += (weights[from + k] as number) * (input[k] as number);
      output[o] = rectified && sum < 0 ? 0 : sum;
    }
    input = output;
  }
  return input[0] as number;
}

const MOMENTUM = 0.9;
const ADAM_SECOND = 0.999;
/** It is the longest gradient step of SGD, so that an unlucky start does not diverge. */
const CLIP = 1;

function training(layers: readonly Layer[], { optimizer, rate }: NetworkShape) {
  const values = layers.map(({ outputs }) => new Float64Array(outputs));
  const errors = layers.map(({ outputs }) => new Float64Array(outputs));
  const gradients = layers.map(({ weights }) => new Float64Array(weights.length));
  const first = layers.map(({ weights }) => new Float64Array(weights.length));
  const second = layers.map(({ weights }) => new Float64Array(weights.length));
  let steps = 0;

  const backwards = (row: Float64Array, wanted: number, share: number) => {
    const answer = pass(layers, values, row);
    const last = layers.length - 1;
    (errors[last] as Float64Array)[0] = 2 * share * (answer - wanted);
    for (let l = last; l >= 0; l--) {
      const { inputs, outputs, weights } = layers[l] as Layer;
      const input = l > 0 ? (values[l - 1] as Float64Array) : row;
      const before = errors[l - 1];
      before?.fill(0);
      const error = errors[l] as Float64Array;
      const gradient = gradients[l] as Float64Array;
      for (let o = 0; o < outputs; o++) {
        const one = error[o] as number;
        if (one === 0) continue;
        const from = o * (inputs + 1);
        for (let k = 0; k < inputs; k++)
          gradient[from + k] = (gradient[from + k] as number) + one * (input[k] as number);
        gradient[from + inputs] = (gradient[from + inputs] as number) + one;
        if (before)
          for (let k = 0; k < inputs; k++)
            if ((input[k] as number) > 0)
              before[k] = (before[k] as number) + one * (weights[from + k] as number);
      }
    }
  };

  const update = () => {
    steps++;
    const firstBias = 1 - MOMENTUM ** steps;
    const secondBias = 1 - ADAM_SECOND ** steps;
    layers.forEach(({ weights }, l) => {
      const [g, m, v] = [gradients[l], first[l], second[l]] as [
        Float64Array,
        Float64Array,
        Float64Array,
      ];
      for (let k = 0; k < weights.length; k++) {
        if (optimizer === "adam") {
          m[k] = MOMENTUM * (m[k] as number) + (1 - MOMENTUM) * (g[k] as number);
          v[k] = ADAM_SECOND * (v[k] as number) + (1 - ADAM_SECOND) * (g[k] as number) ** 2;
          const mean = (m[k] as number) / firstBias;
          const power = (v[k] as number) / secondBias;
          weights[k] = (weights[k] as number) - (rate * mean) / (Math.sqrt(power) + 1e-8);
        } else {
          m[k] =
            MOMENTUM * (m[k] as number) - rate * Math.max(-CLIP, Math.min(CLIP, g[k] as number));
          weights[k] = (weights[k] as number) + (m[k] as number);
        }
      }
      g.fill(0);
    });
  };

  return {
    output: (row: Float64Array) => pass(layers, values, row),
    step(x: readonly Float64Array[], wanted: Float64Array, rows: readonly number[]) {
      for (const i of rows) backwards(x[i] as Float64Array, wanted[i] as number, 1 / rows.length);
      update();
    },
  };
}
