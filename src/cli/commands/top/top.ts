import { paintFor, wallNow } from "#core";
import { command, flag, number } from "../../program/command.ts";
import { TopFeed } from "./feed.ts";
import { frameOf } from "./frame.ts";
import { painted } from "./line.ts";
import { firstView } from "./model.ts";
import { watchOnScreen } from "./watch.ts";

const WIDE = 120;

/** The output is no terminal, so COLUMNS says the width. */
function widthGiven(): number {
  const given = Number(process.env.COLUMNS);
  return Number.isInteger(given) && given > 0 ? given : WIDE;
}

export const topCommand = command({
  name: "top",
  summary: "a screen that shows how services fare and where GPU time goes; h shows its keys",
  options: {
    interval: number("SECONDS", 1, "how often the screen is drawn; data come once a second", {
      min: 0.1,
      max: 3600,
    }),
    once: flag("print one screen and end, as without a terminal"),
  },
  async run({ interval, once }) {
    const { stdin, stdout } = process;
    const feed = new TopFeed();
    if (stdin.isTTY && stdout.isTTY && process.env.TERM !== "dumb" && !once) {
      await watchOnScreen(feed, 1000 * interval);
      return 0;
    }
    await feed.once();
    const model = feed.model(wallNow());
    const size = { columns: stdout.columns ?? widthGiven(), rows: Number.POSITIVE_INFINITY };
    const lines = model ? frameOf(model, firstView, size).lines : [];
    const paint = paintFor(stdout);
    console.log(lines.map((line) => painted(line, paint)).join("\n"));
    return 0;
  },
});
