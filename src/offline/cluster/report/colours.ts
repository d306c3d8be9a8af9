// A colour for each scheduler, the same in all charts and tables. Okabe and Ito's, told apart by colour-blind eyes.
const PALETTE = [
  "#0072b2",
  "#e69f00",
  "#56b4e9",
  "#d55e00",
  "#cc79a7",
  "#8c6d1f",
  "#999999",
  "#44559e",
] as const;
const OURS = "#009e73";

export function coloursFor(names: readonly string[]): ReadonlyMap<string, string> {
  let next = 0;
  return new Map(
    names.map((name) => [
      name,
      name === "cotenant" ? OURS : (PALETTE[next++ % PALETTE.length] as string),
    ]),
  );
}
