// A program that has an error while it shows a screen.
import { Screen } from "#cli";

const screen = new Screen(process.stdin, process.stdout, {
  redraw() {},
  onKey() {
    throw new Error("an error behind the screen");
  },
});
screen.draw(["a screen"]);
