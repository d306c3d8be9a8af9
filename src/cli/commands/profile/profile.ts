import { errors } from "#core";
import { command } from "../../program/command.ts";
import { importAll } from "./import.ts";
import { listFolder } from "./list.ts";
import { measureOne } from "./measure.ts";
import { folderOf, options } from "./options.ts";
import { show } from "./show.ts";

export const profileCommand = command({
  name: "profile",
  summary: "measure what a command asks of the GPU; import, list and show such profiles",
  options,
  positional: {
    name: "-- COMMAND… | import FILE… | list [DIR] | show NAME|FILE",
    doc: "COMMAND is run twice, unmodified. import needs --from, and --kind except for Orion's files",
    atLeast: 1,
    endsOptions: (word) => !["import", "list", "show"].includes(word),
  },
  examples: [
    "cotenant profile --name serve --seconds 20 -- \\\n  python3 serve.py",
    "cotenant profile show serve",
    "cotenant run --class high --profile serve -- \\\n  python3 serve.py",
  ],
  async run(args) {
    const [verb = "", ...rest] = args.positional;
    switch (verb) {
      case "import":
        return importAll(rest, args);
      case "list":
        return listFolder(atMostOne(rest, "list") ?? folderOf(args), args);
      case "show":
        return show(only(rest, "show", "NAME or FILE"), args);
      default:
        return await measureOne([verb, ...rest], args);
    }
  },
});

function atMostOne([first, ...others]: readonly string[], verb: string): string | undefined {
  if (others[0] !== undefined) throw errors.strayArgument(`profile ${verb}`, others[0]);
  return first;
}

function only(given: readonly string[], verb: string, wanted: string): string {
  const first = atMostOne(given, verb);
  if (first === undefined) throw errors.missingArgument(`profile ${verb}`, `a ${wanted}`);
  return first;
}
