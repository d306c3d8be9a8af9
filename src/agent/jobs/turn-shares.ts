// A turn lasts as many quanta as the client's share. A job of several processes on a GPU has several turns in a round, so
// each of them is shorter by that number, or those of all others are longer: shares are whole numbers.
import { constants } from "#protocol";

interface Sharer {
  readonly job: string;
  readonly share: number;
}

/** In the order of the clients of one GPU. */
export function turnShares(clients: readonly Sharer[]): readonly number[] {
  const counts = clients.map(({ job }) => clients.filter((one) => one.job === job).length);
  const common = counts.reduce(leastCommonMultiple, 1);
  return clients.map(({ share }, i) =>
    Math.min(constants.MAX_SHARE, (share * common) / (counts[i] ?? 1)),
  );
}

const leastCommonMultiple = (one: number, other: number): number =>
  (one / greatestCommonDivisor(one, other)) * other;

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other);
}
