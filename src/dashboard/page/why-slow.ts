import type { BurstView, WorstView } from "../contract.ts";
import { byId, clockTime, Keyed, make, type Shown, setText } from "./dom.ts";

const columns = ["ended", "lasted", "waited", "what was queued ahead", "what to set"] as const;

export class WhySlow {
  readonly #services = new Keyed<WorstView>(
    byId("bursts"),
    ({ uuid, client }) => `${uuid} ${client}`,
    tableOf,
  );

  update(worst: readonly WorstView[]): void {
    byId("why").hidden = worst.length === 0;
    this.#services.update(worst);
  }
}

function tableOf({ name }: WorstView): Shown<WorstView> {
  const body = make("tbody");
  const rows = new Keyed<BurstView>(body, ({ at, lasted }) => `${at} ${lasted}`, rowOf);
  const head = make("tr");
  for (const column of columns) {
    const cell = make("th", "", column);
    cell.scope = "col";
    head.append(cell);
  }
  const table = make("table", "", make("caption", "", name), make("thead", "", head), body);
  return { element: table, update: ({ bursts }) => rows.update(bursts) };
}

function rowOf({ at }: BurstView): Shown<BurstView> {
  const cells = columns.map((column) => {
    const cell = make("td");
    cell.dataset.column = column;
    return cell;
  });
  return {
    element: make("tr", "", ...cells),
    update({ lasted, waited, cause, remedy }) {
      const shown = [clockTime(at), lasted, waited, cause, remedy || "–"];
      cells.forEach((cell, i) => {
        setText(cell, shown[i] ?? "");
      });
    },
  };
}
