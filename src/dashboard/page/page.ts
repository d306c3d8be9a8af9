import "uplot/dist/uPlot.min.css";
import "./colours.css";
import "./page.css";
import type { EventView, GpuView, Snapshot, StrangerView } from "../contract.ts";
import { Cards } from "./cards.ts";
import { byId, clockTime, Keyed, make, type Shown, setClass, setText, texts } from "./dom.ts";
import { type Connection, startLive } from "./live.ts";
import { Timeline } from "./timeline.ts";
import { tokenHere } from "./token.ts";
import { WhySlow } from "./why-slow.ts";

const RUN = "Run “cotenant dashboard” and open the URL that it prints.";

const timeline = new Timeline();
const cards = new Cards();
const whySlow = new WhySlow();
const launched = texts(byId("launched"));
const sentences = new Keyed<GpuView>(byId("sentences"), ({ uuid }) => uuid, sentenceOf);
const strangers = new Keyed<StrangerView>(byId("stranger-list"), ({ text }) => text, strangerOf);
const events = new Keyed<EventView>(
  byId("event-list"),
  ({ time, event, facts }) => `${time} ${event} ${facts}`,
  eventOf,
);
let newest: number | undefined;

function show(snapshot: Snapshot): void {
  newest = snapshot.at;
  setText(byId("agent"), snapshot.agent);
  byId("now").hidden = false;
  sentences.update(snapshot.gpus);
  timeline.update(snapshot.gpus, snapshot.at);
  const clients = [...snapshot.jobs, ...snapshot.gpus.flatMap((gpu) => gpu.clients)];
  byId("clients").hidden = clients.length + snapshot.launched.length === 0;
  launched.update(snapshot.launched);
  cards.update(snapshot);
  const found = snapshot.gpus.flatMap((gpu) => gpu.strangers);
  byId("strangers").hidden = found.length === 0;
  strangers.update(found);
  byId("events").hidden = snapshot.events.length === 0;
  events.update(snapshot.events.toReversed());
  const missed = clients.filter(({ standing }) => standing === "missed").length;
  document.title = missed > 0 ? `${missed} missed – Cotenant` : "Cotenant";
}

function sentenceOf({ name }: GpuView): Shown<GpuView> {
  const says = make("p", "sentence");
  const advice = make("ul", "plain");
  const recovered = make("p", "recovered");
  const shownAdvice = texts(advice);
  const element = make("article", "", make("h3", "", name), says, advice, recovered);
  return {
    element,
    update(gpu) {
      setClass(element, `now ${gpu.standing}`);
      setText(says, gpu.sentence);
      shownAdvice.update(gpu.advice);
      const { text, since } = gpu.recovered;
      setText(recovered, `Recovered today: ${text} (since ${clockTime(since)})`);
      recovered.title =
        "Time in which best-effort work ran on this GPU while a service was a client of it, since midnight or the agent's start";
    },
  };
}

function strangerOf({ text, adopt }: StrangerView): Shown<StrangerView> {
  const element = make("li", "", text);
  if (adopt) element.append(make("br"), "Next time: ", make("code", "", adopt));
  return { element, update() {} };
}

function eventOf({ time, event, facts }: EventView): Shown<EventView> {
  const when = make("time", "", new Date(time).toLocaleString([], { hour12: false }));
  when.dateTime = time;
  return { element: make("li", "", when, " ", make("b", "", event), " ", facts), update() {} };
}

function say(connection: Connection): void {
  const old = connection.state !== "live" && connection.state !== "connecting";
  setClass(document.body, old && newest !== undefined ? "old" : "");
  setClass(byId("connection"), connection.state);
  const since = newest === undefined ? "" : ` What is shown is from ${clockTime(newest)}.`;
  setText(byId("connection"), textOf(connection) + (old ? since : ""));
}

function textOf(connection: Connection): string {
  switch (connection.state) {
    case "connecting":
      return "Connecting…";
    case "live":
      return "Live";
    case "gone":
      return `The agent does not answer; this page tries again every 2 s. A restarted agent may have another port: ${RUN}`;
    case "full":
      return "Too many dashboards and “cotenant top” are open: close one of them.";
    case "refused":
      return connection.worked
        ? `The agent was restarted and has a new token. ${RUN}`
        : `The agent does not accept this token. ${RUN}`;
  }
}

let token = tokenHere();
addEventListener("hashchange", () => {
  token = tokenHere();
});
if (token === undefined) {
  setClass(byId("connection"), "refused");
  setText(byId("connection"), `This page needs the agent's token. ${RUN}`);
} else say({ state: "connecting" });
startLive(() => token, {
  snapshot: show,
  timeline: (timelines) => timeline.take(timelines),
  worst: (worst) => whySlow.update(worst),
  connection: say,
});
