// The canvas has a text beside it for those who do not see it, and arrow keys read it.
import uPlot from "uplot";
import type { Series } from "../contract.ts";
import { meanOf, type ShareName, shareNames } from "../series.ts";
import { clockTime, make, setText } from "./dom.ts";

export const shareTexts: Readonly<Record<ShareName | "idle", string>> = {
  service: "service",
  bestEffort: "best-effort",
  held: "held",
  idle: "idle",
};

export interface Stretch {
  readonly series: Series;
  readonly from: number;
  readonly until: number;
}

const HEIGHT = 170;
const HINT = "Point at the chart, or use the arrow keys on it, to read single points.";
const percent = (share: number) => `${Math.round(100 * share)} %`;

export class Chart {
  readonly element: HTMLElement;
  readonly #canvas = make("div", "canvas");
  readonly #means = make("p", "means");
  readonly #point = make("p", "point");
  #plot: uPlot | undefined;
  #shown: Stretch | undefined;

  constructor(title: string) {
    this.#canvas.tabIndex = 0;
    this.#canvas.setAttribute("role", "img");
    this.#point.setAttribute("role", "status");
    setText(this.#point, HINT);
    this.#canvas.addEventListener("keydown", (event) => this.#move(event));
    this.element = make(
      "figure",
      "chart",
      make("figcaption", "", title),
      this.#means,
      this.#canvas,
      this.#point,
    );
    new ResizeObserver(() => this.#resize()).observe(this.#canvas);
  }

  show(stretch: Stretch): void {
    this.#shown = stretch;
    const text = meansText(stretch);
    setText(this.#means, text);
    this.#canvas.setAttribute("aria-label", `${text}. Arrow keys read single points.`);
    const data = stacked(stretch.series);
    if (!this.#plot) this.#plot = new uPlot(this.#options(), data, this.#canvas);
    else this.#plot.setData(data, false);
    this.#plot.setScale("x", { min: stretch.from / 1000, max: stretch.until / 1000 });
  }

  /** Colours may have changed. */
  redraw(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
    if (this.#shown) this.show(this.#shown);
  }

  #options(): uPlot.Options {
    const steps = uPlot.paths.stepped?.({ align: 1 });
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
    const axis = {
      stroke: colour("quiet"),
      grid: { stroke: colour("line"), width: 1 },
      ticks: { stroke: colour("line"), width: 1 },
      font: "12px system-ui, sans-serif",
    };
    return {
      width: this.#canvas.clientWidth || 300,
      height: HEIGHT,
      legend: { show: false },
      cursor: { sync: { key: "gpus" }, drag: { x: false, y: false }, points: { show: false } },
      scales: { x: { time: true, auto: false }, y: { range: [0, 1] } },
      axes: [
        { ...axis, values: "{HH}:{mm}", space: 60 },
        { ...axis, size: 58, values: (_, ticks) => ticks.map(percent), splits: () => [0, 0.5, 1] },
      ],
      // The sum of all is first: each next one is painted over it.
      series: [
        {},
        ...[...shareNames].reverse().map((name) => ({
          fill: colour(name),
          stroke: colour(name),
          width: 0,
          points: { show: false },
          ...(steps && { paths: steps }),
        })),
      ],
      hooks: { setCursor: [(plot) => this.#read(plot.cursor.idx ?? undefined)] },
    };
  }

  #read(index: number | undefined): void {
    const { series } = this.#shown ?? {};
    const values = shareNames.map((name) => series?.[name][index ?? -1]);
    const [service] = values;
    const known = series && index !== undefined && service !== undefined;
    setText(
      this.#point,
      known ? pointText(clockTime(series.from + index * series.period), values) : HINT,
    );
  }

  #move(event: KeyboardEvent): void {
    const plot = this.#plot;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!plot || step === undefined) return;
    event.preventDefault();
    const last = plot.data[0].length - 2;
    const index = Math.min(last, Math.max(0, (plot.cursor.idx ?? last) + step));
    const left = plot.valToPos(plot.data[0][index] ?? 0, "x");
    plot.setCursor({ left, top: HEIGHT / 2 });
  }

  #resize(): void {
    const width = this.#canvas.clientWidth;
    if (this.#plot && width > 0 && width !== this.#plot.width)
      this.#plot.setSize({ width, height: HEIGHT });
  }
}

function pointText(time: string, values: readonly (number | null | undefined)[]): string {
  if (values[0] === null) return `${time}: no client`;
  return `${time}: ${partsText(values)}`;
}

function partsText(values: readonly (number | null | undefined)[]): string {
  const idle = 1 - values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  const parts = shareNames.map((name, i) => `${shareTexts[name]} ${percent(values[i] ?? 0)}`);
  return [...parts, `${shareTexts.idle} ${percent(Math.max(0, idle))}`].join(", ");
}

function meansText({ series, from, until }: Stretch): string {
  const means = shareNames.map((name) => meanOf(series, name, from, until));
  if (means.every((mean) => mean === undefined)) return "No client in this time";
  return `On average ${partsText(means)}`;
}

/** uPlot gets times, then sums of ever fewer shares; the last period twice, for its width. */
function stacked({ from, period, service, bestEffort, held }: Series): uPlot.AlignedData {
  const sums: [number[], number[], number[]] = [[], [], []];
  const times: number[] = [];
  for (let i = 0; i <= service.length; i++) {
    const last = Math.min(i, service.length - 1);
    const one = service[last] ?? 0;
    const two = one + (bestEffort[last] ?? 0);
    sums[0].push(two + (held[last] ?? 0));
    sums[1].push(two);
    sums[2].push(one);
    times.push((from + i * period) / 1000);
  }
  return [times, ...sums];
}
