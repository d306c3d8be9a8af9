import type { ClientView, Figure, GpuView } from "../contract.ts";
import { figureMeanings } from "../figures.ts";
import { byId, Keyed, make, type Shown, setClass, setText, texts } from "./dom.ts";

export class Cards {
  readonly #gpus = new Keyed<GpuView>(byId("cards"), ({ uuid }) => uuid, gpuOfCards);

  update(gpus: readonly GpuView[]): void {
    const busy = gpus.filter(({ clients }) => clients.length > 0);
    this.#gpus.update(busy);
  }
}

function gpuOfCards({ name }: GpuView): Shown<GpuView> {
  const list = make("ul", "cards");
  const facts = make("span", "facts");
  const cards = new Keyed<ClientView>(list, ({ id }) => id, card);
  return {
    element: make("div", "gpu", make("h3", "", `${name} `, facts), list),
    update(gpu) {
      setText(facts, gpu.facts);
      cards.update(gpu.clients);
    },
  };
}

function card(client: ClientView): Shown<ClientView> {
  const badge = make("span", "badge");
  const says = make("p", "says");
  const cause = make("p", "cause");
  const remedy = make("p", "remedy");
  const figures = make("dl", "figures");
  const notes = make("ul", "plain notes");
  const last = make("p", "last");
  const shownFigures = new Keyed<Figure>(figures, ({ label }) => label, figureOf);
  const shownNotes = texts(notes);
  const head = make(
    "div",
    "head",
    make("h4", "", client.name),
    make("span", `class ${client.class}`, client.class),
    badge,
  );
  const command = make("code", "command", client.command ?? "command not known");
  command.title = client.command ?? "";
  const owner = make("p", "owner");
  const element = make(
    "li",
    "card",
    head,
    command,
    owner,
    says,
    cause,
    remedy,
    figures,
    notes,
    last,
  );
  return {
    element,
    update(now) {
      const { standing, problem, lastEvent } = now;
      setClass(element, `card ${now.class} ${standing}`);
      setText(badge, now.badge);
      setText(owner, `pid ${now.pid}, ${now.owner}`);
      setText(says, now.says);
      setText(cause, problem ? `Why: ${problem.cause}.` : "");
      setText(remedy, problem ? `What to do: ${problem.remedy}.` : "");
      shownFigures.update(now.figures);
      shownNotes.update(now.notes);
      setText(last, lastEvent ? `Last event: ${lastEvent.event}, ${timeOf(lastEvent.time)}` : "");
    },
  };
}

const timeOf = (time: string) => new Date(time).toLocaleString([], { hour12: false });

function figureOf({ label }: Figure): Shown<Figure> {
  const value = make("dd");
  const element = make("div", "", make("dt", "", label), value);
  element.title = figureMeanings[label];
  return { element, update: (now) => setText(value, now.value) };
}
