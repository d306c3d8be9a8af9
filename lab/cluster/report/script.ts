// The report's script: the values under the pointer, or at the arrow keys. Without it the page shows means.

/** A chart's data for the script, as JSON in the page. */
export interface Readable {
  /** Where each point is, in parts of the chart's width. */
  readonly places: readonly number[];
  /** Names of the points, such as "hour 4". */
  readonly names: readonly string[];
  /** By curve, then by point. */
  readonly values: readonly (readonly string[])[];
}

export const script = `
for (const chart of document.querySelectorAll(".chart")) {
  const plot = chart.querySelector(".plot");
  const line = chart.querySelector(".at");
  const where = chart.querySelector(".where");
  const cells = [...chart.querySelectorAll(".values b")];
  const { places, names, values } = JSON.parse(chart.querySelector("script").textContent);
  const rest = [where.textContent, ...cells.map((cell) => cell.textContent)];
  let shown = -1;
  const show = (point) => {
    shown = point;
    line.hidden = point < 0;
    line.style.left = 100 * (places[point] ?? 0) + "%";
    where.textContent = names[point] ?? rest[0];
    cells.forEach((cell, i) => { cell.textContent = values[i][point] ?? (point < 0 ? rest[i + 1] : "-"); });
  };
  const nearest = (place) =>
    places.reduce((best, one, i) => Math.abs(one - place) < Math.abs(places[best] - place) ? i : best, 0);
  const read = (event) => {
    const { left, width } = plot.getBoundingClientRect();
    if (places.length > 0) show(nearest((event.clientX - left) / width));
  };
  plot.addEventListener("pointermove", read);
  plot.addEventListener("pointerdown", read);
  plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") show(-1); });
  plot.addEventListener("blur", () => show(-1));
  plot.addEventListener("keydown", (event) => {
    const last = places.length - 1;
    const next = { ArrowLeft: shown - 1, ArrowRight: shown + 1, Home: 0, End: last, Escape: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    show(event.key === "Escape" ? -1 : Math.max(0, Math.min(last, next)));
  });
}
`;
