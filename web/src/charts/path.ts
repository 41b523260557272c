// Paths of small still pictures: coordinates in tenths of a pixel, with gaps for missing values.

/** Rounds to a tenth. More digits are invisible and enlarge the page. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/**
 * Returns the path through the points; null is a gap. `dot` is added where a point starts a line,
 * so that a single point is visible.
 */
export function polyline(points: ([number, number] | null)[], dot = ""): string {
  let path = "";
  let pen = "M";
  for (const point of points) {
    if (point === null) {
      pen = "M";
      continue;
    }
    path += `${pen}${round(point[0])} ${round(point[1])}`;
    if (pen === "M") path += dot;
    pen = "L";
  }
  return path;
}
