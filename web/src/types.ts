// Types of the page's data, as written by the report: `summary.json`, `series.json` and the
// manifest in one object. Units are in the names (`_ns`: nanoseconds from the start).

export type * from "./types/figures";
export type * from "./types/findings";
export type * from "./types/live";
export type * from "./types/page";
export type * from "./types/series";
export type * from "./types/summary";
