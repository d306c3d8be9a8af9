import type { ClientView, Figure, GpuView, ProcessView, Snapshot } from "../contract.ts";
import { figureMeanings } from "../figures.ts";
import { byId, Keyed, make, type Shown, setClass, setText, texts } from "./dom.ts";

type Group = Pick<GpuView, "uuid" | "name" | "facts" | "parts" | "clients">;

export class Cards {
  readonly #groups = new Keyed<Group>(byId("cards"), ({ uuid }) => uuid, groupOfCards);

  update({ jobs, gpus }: Pick<Snapshot, "jobs" | "gpus">): void {
    const name = "Jobs on several GPUs";
    const clients = jobs.map((job) => ({ ...job, processes: numbered(job.processes, gpus) }));
    const spanning: Group = { uuid: "", name, facts: "", parts: [], clients };
    this.#groups.update(
      [spanning, ...gpus].filter(({ clients, parts }) => clients.length + parts.length > 0),
    );
  }
}

/** GPUs have the order in which the page shows them. */
const numbered = (processes: readonly ProcessView[], gpus: readonly GpuView[]) =>
  processes.map(({ text, ...one }) => ({
    ...one,
    text: `GPU ${gpus.findIndex(({ uuid }) => uuid === one.gpu)}: ${text}`,
  }));

function groupOfCards({ name }: Group): Shown<Group> {
  const list = make("ul", "cards");
  const facts = make("span", "facts");
  const cards = new Keyed<ClientView>(list, ({ id }) => id, card);
  const parts = make("ul", "plain notes");
  const shownParts = texts(parts);
  return {
    element: make("div", "gpu", make("h3", "", `${name} `, facts), parts, list),
    update(group) {
      setText(facts, group.facts);
      shownParts.update(group.parts);
      cards.update(group.clients);
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
  const processes = make("ul", "plain notes");
  const shownProcesses = new Keyed<ProcessView>(
    processes,
    ({ gpu, pid }) => `${gpu} ${pid}`,
    process,
  );
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
    processes,
    notes,
    last,
  );
  return {
    element,
    update(now) {
      const { standing, problem, lastEvent } = now;
      setClass(element, `card ${now.class} ${standing}`);
      setText(badge, now.badge);
      setText(owner, `${now.size || `pid ${now.pid}`}, ${now.owner}`);
      setText(says, now.says);
      setText(cause, problem ? `Why: ${problem.cause}.` : "");
      setText(remedy, problem ? `What to do: ${problem.remedy}.` : "");
      shownFigures.update(now.figures);
      shownProcesses.update(now.processes);
      shownNotes.update(now.notes);
      setText(last, lastEvent ? `Last event: ${lastEvent.event}, ${timeOf(lastEvent.time)}` : "");
    },
  };
}

function process(): Shown<ProcessView> {
  const element = make("li");
  return { element, update: ({ text }) => setText(element, text) };
}

const timeOf = (time: string) => new Date(time).toLocaleString([], { hour12: false });

function figureOf({ label }: Figure): Shown<Figure> {
  const value = make("dd");
  const element = make("div", "", make("dt", "", label), value);
  element.title = figureMeanings[label];
  return { element, update: (now) => setText(value, now.value) };
}
