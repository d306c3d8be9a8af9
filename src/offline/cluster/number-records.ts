// Objects whose numbers lie side by side in one array. V8 gives each number of an object that changes a place of its own
// in memory. A step of a large cluster reads some twenty numbers of each GPU, and waits for memory more than it computes.

/** One class for all: a private name for each kind of record would make V8 look for it by name. */
class Row {
  readonly #first: number;
  constructor(first: number) {
    this.#first = first;
  }
  /** The index of its first number. */
  static first = (row: Row): number => row.#first;
}

/**
 * `count` objects with a number of each name, 0 at first. The numbers are no own properties: a spread or `Object.keys`
 * does not see them.
 */
export function numberRecords<Name extends string>(
  names: readonly Name[],
  count: number,
): Record<Name, number>[] {
  const width = names.length;
  const numbers = new Float64Array(width * count);
  class NumberRow extends Row {}
  names.forEach((name, place) => {
    Object.defineProperty(NumberRow.prototype, name, {
      get(this: Row) {
        return numbers[Row.first(this) + place];
      },
      set(this: Row, value: number) {
        numbers[Row.first(this) + place] = value;
      },
    });
  });
  return Array.from(
    { length: count },
    (_, index) => new NumberRow(index * width) as unknown as Record<Name, number>,
  );
}
