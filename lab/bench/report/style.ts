// How a page of results looks: in Markdown, or on a terminal.
import type { Column } from "#core";

/** The lines of what a page is made of. */
export interface Style {
  /** Tables may leave columns out, so failures are told below them, too. */
  readonly isNarrow: boolean;
  heading(text: string): string[];
  text(text: string): string[];
  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[];
}
