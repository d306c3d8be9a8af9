// Finds places for text that cover nothing and are not nearer to another point.

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A point and the reach of its interval. */
export interface Spot {
  readonly x: number;
  readonly y: number;
  readonly top: number;
  readonly bottom: number;
}

/** Text with the side at which it is anchored, so that a wrong guess of its width does no harm. */
export interface Place extends Box {
  readonly anchor: "start" | "middle" | "end";
}

const overlap = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const inside = (box: Box, frame: Box): boolean =>
  box.x >= frame.x &&
  box.y >= frame.y &&
  box.x + box.width <= frame.x + frame.width &&
  box.y + box.height <= frame.y + frame.height;

/** The first candidate in the frame that touches nothing in `taken`. */
export const place = (
  candidates: readonly Place[],
  frame: Box,
  taken: readonly Box[],
): Place | undefined =>
  candidates.find((box) => inside(box, frame) && !taken.some((other) => overlap(box, other)));

/** Right, left, above and below a point, then between those. Places that are as near to another point are left out. */
export function beside(
  spot: Spot,
  width: number,
  height: number,
  others: readonly Spot[],
): readonly Place[] {
  const { x, y } = spot;
  const above = Math.min(y - 8, spot.top - 2) - height;
  const below = Math.max(y + 8, spot.bottom + 2);
  const box = (left: number, top: number, anchor: Place["anchor"]): Place => ({
    x: left,
    y: top,
    width,
    height,
    anchor,
  });
  const candidates = [
    box(x + 9, y - height / 2, "start"),
    box(x - 9 - width, y - height / 2, "end"),
    box(x - width / 2, above, "middle"),
    box(x - width / 2, below, "middle"),
    box(x + 6, y - 6 - height, "start"),
    box(x - 6 - width, y - 6 - height, "end"),
    box(x + 6, y + 6, "start"),
    box(x - 6 - width, y + 6, "end"),
  ];
  return candidates.filter((one) =>
    others.every((other) => distance(one, other) > distance(one, spot) + 3),
  );
}

function distance(box: Box, { x, y }: Spot): number {
  const dx = Math.max(box.x - x, x - box.x - box.width, 0);
  const dy = Math.max(box.y - y, y - box.y - box.height, 0);
  return Math.hypot(dx, dy);
}
