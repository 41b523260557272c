// Lines of small still pictures: coordinates of a tenth of a pixel, and gaps where there is no value. No axes, no meaning.

/** To a tenth: what is finer is not seen and makes the page larger. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The path through the points; null is a gap. `dot` is drawn where a point begins a line, that one that stands alone is seen. */
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
