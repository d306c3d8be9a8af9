import type { GpuView, TimelineView } from "../contract.ts";
import { SeriesStore, shareNames } from "../series.ts";
import { Chart, type Stretch, shareTexts } from "./chart.ts";
import { byId, Keyed, make, setText } from "./dom.ts";

const MINUTE = 60_000;
const spans = [
  { text: "15 min", ms: 15 * MINUTE },
  { text: "3 h", ms: 180 * MINUTE },
  { text: "24 h", ms: 1440 * MINUTE },
] as const;
const DAY = 1440 * MINUTE;

const meanings: Readonly<Record<keyof typeof shareTexts, string>> = {
  service: "a burst of a service ran",
  bestEffort: "best-effort work ran, and no burst",
  held: "best-effort work waited, and no burst ran: the resume delay, and pauses",
  idle: "neither ran nor waited",
};

export class Timeline {
  readonly #store = new SeriesStore();
  readonly #charts = new Map<string, Chart>();
  readonly #gpus: Keyed<GpuView>;
  readonly #later: HTMLButtonElement;
  readonly #earlier: HTMLButtonElement;
  readonly #where = make("span", "where");
  #span: number = spans[0].ms;
  /** Its end is back from now by this, in ms. */
  #back = 0;
  #now = 0;
  #shown: readonly GpuView[] = [];

  constructor() {
    const range = byId("range");
    const choices = spans.map(({ text, ms }) => {
      const button = make("button", "", text);
      button.addEventListener("click", () => this.#choose(ms, 0));
      button.setAttribute("aria-pressed", String(ms === this.#span));
      return { button, ms };
    });
    this.#earlier = make("button", "", "← earlier");
    this.#later = make("button", "", "later →");
    this.#earlier.addEventListener("click", () =>
      this.#choose(this.#span, this.#back + this.#span / 2),
    );
    this.#later.addEventListener("click", () =>
      this.#choose(this.#span, this.#back - this.#span / 2),
    );
    range.append(...choices.map(({ button }) => button), this.#earlier, this.#later, this.#where);
    range.addEventListener("click", () => {
      for (const { button, ms } of choices)
        button.setAttribute("aria-pressed", String(ms === this.#span));
    });
    byId("legend").append(
      ...([...shareNames, "idle"] as const).map((name) => {
        const item = make(
          "li",
          "",
          make("span", `swatch ${name}`),
          `${shareTexts[name]}: ${meanings[name]}`,
        );
        return item;
      }),
    );
    this.#gpus = new Keyed(
      byId("charts"),
      ({ uuid }) => uuid,
      ({ uuid, name }) => this.#chartOf(uuid, name),
    );
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const chart of this.#charts.values()) chart.redraw();
    });
  }

  take(timelines: readonly TimelineView[]): void {
    this.#store.take(timelines);
    this.#draw();
  }

  update(gpus: readonly GpuView[], now: number): void {
    for (const gpu of gpus) this.#store.takeLatest(gpu);
    this.#now = now;
    this.#shown = gpus.filter(({ uuid }) => this.#store.of(uuid));
    byId("timeline").hidden = this.#shown.length === 0;
    this.#gpus.update(this.#shown);
    this.#draw();
  }

  #chartOf(uuid: string, name: string) {
    const chart = new Chart(name);
    this.#charts.set(uuid, chart);
    return { element: chart.element, update() {} };
  }

  #choose(span: number, back: number): void {
    this.#span = span;
    this.#back = Math.max(0, Math.min(DAY - span, back));
    this.#draw();
  }

  #draw(): void {
    this.#later.disabled = this.#back === 0;
    this.#earlier.disabled = this.#back >= DAY - this.#span;
    setText(
      this.#where,
      this.#back === 0 ? "until now" : `until ${timeText(this.#now - this.#back)}`,
    );
    for (const { uuid } of this.#shown) {
      const timeline = this.#store.of(uuid);
      if (timeline) this.#charts.get(uuid)?.show(this.#stretch(timeline));
    }
  }

  /** Seconds are known only for the newest stretch. */
  #stretch({ second, minute }: TimelineView): Stretch {
    const until = this.#now - this.#back;
    const from = until - this.#span;
    const fine = this.#span === spans[0].ms && this.#back === 0;
    return { series: fine ? second : minute, from, until };
  }
}

const timeText = (time: number) =>
  new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
