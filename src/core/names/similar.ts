/** A unique beginning wins, else the fewest typing mistakes, if they are few for the length. */
export function similar(word: string, known: readonly string[]): string | undefined {
  const [longer, ...more] = known.filter((one) => word.length > 2 && one.startsWith(word));
  if (longer !== undefined && more.length === 0) return longer;
  const [best] = known
    .map((one) => ({ one, mistakes: distance(word, one) }))
    .sort((a, b) => a.mistakes - b.mistakes);
  return best && best.mistakes <= Math.max(1, Math.floor(best.one.length / 3))
    ? best.one
    : undefined;
}

// Optimal string alignment: letters are added, left out, replaced, or exchanged with the next one.
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const one = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced);
      const exchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(exchanged ? Math.min(one, (before[j - 2] ?? 0) + 1) : one);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
