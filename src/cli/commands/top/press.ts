import type { Frame } from "./frame.ts";
import { type Order, stretches, type View } from "./model.ts";
import { isLetter, type Letter } from "./orders.ts";

export interface Key {
  readonly name: string | undefined;
  readonly text: string;
  readonly ctrl: boolean;
}

/** undefined: the person wants to quit. */
type Action = (view: View, shown: Frame) => View | undefined;

const quit: Action = () => undefined;
const help: Action = (view) => ({
  ...view,
  page: view.page === "help" ? "clients" : "help",
  scroll: 0,
});
const sortBy =
  (by: number): Action =>
  (view, { titles }) => ({ ...view, sort: beside(titles, view.sort, by) });
const down: Action = (view, shown) => moved(view, shown, 1);
const up: Action = (view, shown) => moved(view, shown, -1);

const actions: Readonly<Record<string, Action>> = {
  q: quit,
  escape: (view) => (view.page === "clients" ? undefined : { ...view, page: "clients", scroll: 0 }),
  h: help,
  "?": help,
  p: (view) => ({ ...view, paused: !view.paused }),
  t: (view) => ({ ...view, stretch: (view.stretch + 1) % stretches.length }),
  s: sortBy(1),
  ">": sortBy(1),
  "<": sortBy(-1),
  r: (view) => ({ ...view, reverse: !view.reverse }),
  j: down,
  down,
  k: up,
  up,
  return: entered,
  enter: entered,
};

export function press(view: View, { name, text, ctrl }: Key, shown: Frame): View | undefined {
  if (ctrl) return name === "c" || name === "d" ? undefined : view;
  const { asked, confirmed: _, notice: __, ...calm } = view;
  if (isLetter(text) && view.page === "clients") return ordered(calm, asked, text, shown);
  const action = actions[name ?? text];
  return action ? action(calm, shown) : calm;
}

function ordered(calm: View, asked: Order | undefined, letter: Letter, { clients }: Frame): View {
  const key = clients.find((one) => one === calm.selected);
  if (key === undefined) return { ...calm, notice: "Select a client first, by ↑ ↓." };
  const order = { letter, key };
  return asked?.letter === letter && asked.key === key
    ? { ...calm, confirmed: order }
    : { ...calm, asked: order };
}

function moved(view: View, { clients, mostScroll }: Frame, by: number): View {
  if (view.page !== "clients")
    return { ...view, scroll: Math.max(0, Math.min(mostScroll, view.scroll + by)) };
  const now = view.selected === undefined ? -1 : clients.indexOf(view.selected);
  const next = now < 0 ? 0 : Math.max(0, Math.min(clients.length - 1, now + by));
  return { ...view, selected: clients[next] };
}

function entered(view: View, { clients }: Frame): View {
  if (view.page !== "clients") return { ...view, page: "clients", scroll: 0 };
  const selected = clients.find((key) => key === view.selected) ?? clients[0];
  return selected === undefined ? view : { ...view, page: "details", selected, scroll: 0 };
}

/** Titles go around the order of the agent, which has none. */
function beside(
  titles: readonly string[],
  title: string | undefined,
  by: number,
): string | undefined {
  const all = [undefined, ...titles];
  return all[(Math.max(0, all.indexOf(title)) + by + all.length) % all.length];
}
