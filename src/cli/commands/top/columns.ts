import type { ClientView, GpuView, Snapshot } from "#dashboard";
import { clockTime, keyOf } from "./model.ts";

export interface Row {
  readonly key: string;
  readonly gpu: string;
  readonly client: ClientView;
}

export interface Column {
  readonly title: string;
  readonly words?: boolean;
  /** Where there is not enough room, the column with the highest rank goes first. */
  readonly rank: number;
  /** Between these, words have the width that is left. */
  readonly least?: number;
  readonly most?: number;
  cell(row: Row): string;
  /** undefined is always last. */
  order(row: Row): string | number | undefined;
}

const wordsOf = (
  title: string,
  rank: number,
  [least, most]: readonly [number, number],
  cell: (client: ClientView) => string,
): Column => ({
  title,
  rank,
  least,
  most,
  words: true,
  cell: ({ client }) => cell(client),
  order: ({ client }) => cell(client).toLowerCase() || undefined,
});

const figureOf = (title: string, rank: number, label = title): Column => {
  const find = ({ client }: Row) => client.figures.find((one) => one.label === label);
  return {
    title,
    rank,
    cell: (row) => find(row)?.value ?? "",
    order: (row) => find(row)?.amount,
  };
};

export const columns: readonly Column[] = [
  { title: "gpu", rank: 1, cell: ({ gpu }) => gpu, order: ({ gpu }) => Number(gpu.split(",")[0]) },
  wordsOf("name", 0, [12, 24], ({ name }) => name),
  wordsOf("class", 1, [11, 11], (client) => client.class),
  {
    title: "pid",
    rank: 5,
    cell: ({ client }) => pidsText(client),
    order: ({ client }) => client.pid,
  },
  figureOf("p99 now", 2),
  figureOf("p99 alone", 11),
  figureOf("slower by", 3),
  figureOf("objective", 6),
  figureOf("waited", 10),
  figureOf("keeps", 4),
  figureOf("runs", 7),
  figureOf("held", 13),
  figureOf("memory", 8),
  {
    title: "user",
    rank: 12,
    cell: ({ client: { uid, user } }) => user ?? `${uid ?? ""}`,
    order: ({ client }) => client.uid,
  },
  wordsOf("container", 14, [12, 40], ({ place }) => place),
  wordsOf("last event", 15, [16, 32], ({ lastEvent }) =>
    lastEvent ? `${clockTime(lastEvent.time)} ${lastEvent.event}` : "",
  ),
  wordsOf("command", 9, [16, 60], ({ command }) => command ?? ""),
];

/** "42", or "42 +3" where three more processes are in the job. */
export function pidsText({ pid, processes }: ClientView): string {
  const more = new Set(processes.map((one) => one.pid)).size - 1;
  return more > 0 ? `${pid} +${more}` : `${pid}`;
}

/** A job on several GPUs is one row, above those of the GPUs. */
export const rowsOf = ({ jobs, gpus }: Pick<Snapshot, "jobs" | "gpus">): readonly Row[] => [
  ...jobs.map((client) => ({ key: client.id, gpu: numbersOf(client, gpus).join(","), client })),
  ...gpus.flatMap((gpu, i) =>
    gpu.clients.map((client) => ({
      key: keyOf(gpu, client.id),
      gpu: gpus.length > 1 ? `${i}` : "",
      client,
    })),
  ),
];

const numbersOf = ({ processes }: ClientView, gpus: readonly GpuView[]): readonly number[] => [
  ...new Set(processes.map(({ gpu }) => gpus.findIndex(({ uuid }) => uuid === gpu))),
];

/** Rows that are equal, and those that are not known, stay as the agent lists them. */
export function sorted(
  rows: readonly Row[],
  title: string | undefined,
  reverse: boolean,
): readonly Row[] {
  const column = columns.find((one) => one.title === title);
  if (!column) return reverse ? rows.toReversed() : rows;
  const sign = reverse ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [column.order(one), column.order(other)];
    if (a === undefined || b === undefined)
      return Number(a === undefined) - Number(b === undefined);
    return a < b ? -sign : a > b ? sign : 0;
  });
}
