import { ownAgentHere } from "#client";
import { paintFor, wallNow } from "#core";
import type { TopFeed } from "./feed.ts";
import { type Frame, frameOf } from "./frame.ts";
import { painted } from "./line.ts";
import { firstView, type Model } from "./model.ts";
import { give } from "./orders.ts";
import { type Key, press } from "./press.ts";
import { Screen } from "./screen.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export async function watchOnScreen(feed: TopFeed, intervalMs: number): Promise<void> {
  ownAgentHere(); // an error of this is for the person's own screen
  const stop = new AbortController();
  const end = () => stop.abort();
  for (const signal of signals) process.once(signal, end);
  process.stdout.once("error", end);

  const paint = paintFor(process.stdout);
  let view = firstView;
  let paused: Model | undefined;
  let shown: Frame | undefined;
  const draw = () => {
    const model = paused ?? feed.model(wallNow());
    if (!model || stop.signal.aborted) return;
    shown = frameOf(model, view, screen.size);
    screen.draw(shown.lines.map((line) => painted(line, paint)));
  };
  const onKey = (key: Key) => {
    const next = shown ? press(view, key, shown) : isQuit(key) ? undefined : view;
    if (!next) return end();
    if (next.paused !== view.paused) paused = next.paused ? feed.model(wallNow()) : undefined;
    view = next;
    draw();
    const { confirmed } = next;
    const model = confirmed && feed.model(wallNow());
    if (!model) return;
    view = { ...view, confirmed: undefined, notice: "Asked for …" };
    draw();
    void give(confirmed, model).then((said) => {
      view = { ...view, notice: said };
      draw();
    });
  };
  const screen = new Screen(process.stdin, process.stdout, { onKey, redraw: draw });
  const timer = setInterval(draw, intervalMs);
  const first = () => {
    if (!shown) draw();
  };
  try {
    await feed.follow(first, stop.signal);
  } finally {
    clearInterval(timer);
    screen.close();
  }
}

const isQuit = ({ name, ctrl }: Key): boolean =>
  name === "q" || name === "escape" || (ctrl && name === "c");
