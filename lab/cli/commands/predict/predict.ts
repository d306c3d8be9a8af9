// Predicts which jobs go well together: models of colocations are trained on measured ones, asked about others, and
// judged.
import { command } from "#cli";
import { errors, usage } from "#core";
import { collect } from "./collect.ts";
import { evaluate } from "./evaluate.ts";
import { options } from "./options.ts";
import { rankAll } from "./rank.ts";
import { trainOne } from "./train.ts";

export const predictCommand = command({
  name: "predict",
  summary: "which jobs go well together, from their profiles alone: collect, train, rank, evaluate",
  options,
  positional: {
    name: "collect RESULT… | train | rank | evaluate",
    doc:
      "collect needs results of cotenant-lab bench, or a cluster's pairs as kubectl get pairings,sharingreports,workloadprofiles -A -o json prints them, and --out; train --data and --out; " +
      "rank --model, --target and --candidates; evaluate --data",
    atLeast: 1,
  },
  examples: [
    "cotenant-lab predict collect result.json --out measured.json",
    "cotenant-lab predict collect pairs.json --arrangement cotenant-isolated \\\n  --out cluster.json",
    "cotenant-lab predict train --data measured.json \\\n  --profiles bench/profiles/h200 --out model.json",
    "cotenant-lab predict rank --model model.json \\\n  --profiles bench/profiles/h200 --target bert-graph \\\n  --candidates bert-train,gpt2-train",
  ],
  async run(args) {
    const [verb, stray] = args.positional;
    if (stray !== undefined && verb !== "collect")
      throw errors.strayArgument(`predict ${verb}`, stray);
    switch (verb) {
      case "collect":
        return collect(args);
      case "train":
        return trainOne(args);
      case "rank":
        return rankAll(args);
      case "evaluate":
        return evaluate(args);
      default:
        throw usage(`"predict" can't do "${verb}".`, "Known: collect, train, rank, evaluate.");
    }
  },
});
