// Makes canvases fine enough for paper. uPlot draws as finely as the screen it is opened on and cannot be told otherwise, and a
// report that is printed from a coarse screen would look torn: so the page reports two dots per pixel at least. It must be
// imported before uPlot, which asks once.

const own = window.devicePixelRatio;
Object.defineProperty(window, "devicePixelRatio", { configurable: true, get: () => Math.max(2, own) });
