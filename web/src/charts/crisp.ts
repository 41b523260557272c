// Makes canvases fine enough for printing. uPlot uses the screen's pixel ratio and has no option
// for it, so the page reports at least two dots per pixel. Must be imported before uPlot, which
// reads the ratio once.

const own = window.devicePixelRatio;
Object.defineProperty(window, "devicePixelRatio", { configurable: true, get: () => Math.max(2, own) });
