// The library k6-summary: texts about the data of `handleSummary`.

import native from 'loadline:native';

export function textSummary(data, options = {}) {
  return native.textSummary(data, options);
}

function bytes(value) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB', 'ZB', 'YB'];
  if (value < 10) return `${value} B`;
  const exponent = Math.min(Math.floor(Math.log(value) / Math.log(1000)), units.length - 1);
  const amount = Math.floor((value / 1000 ** exponent) * 10 + 0.5) / 10;
  return `${amount.toFixed(amount < 10 ? 1 : 0)} ${units[exponent]}`;
}

// Cuts a number to two decimals, without trailing zeros.
const short = (value) => String(Math.trunc(Math.round(value * 1e6) / 1e4) / 100);

const UNITS = { s: [1e-3, 's'], ms: [1, 'ms'], us: [1e3, 'µs'] };

function duration(ms, unit) {
  if (unit in UNITS) return (ms * UNITS[unit][0]).toFixed(2) + UNITS[unit][1];
  if (ms === 0) return '0s';
  if (ms < 0.001) return `${Math.trunc(ms * 1e6)}ns`;
  if (ms < 1) return `${short(ms * 1000)}µs`;
  if (ms < 1000) return `${short(ms)}ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${short(seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  const rest = `${minutes % 60}m${Math.floor(seconds % 60)}s`;
  return minutes < 60 ? rest : `${Math.floor(minutes / 60)}h${rest}`;
}

export function humanizeValue(value, metric, unit) {
  if (metric.type === 'rate') return `${(Math.trunc(value * 100 * 100) / 100).toFixed(2)}%`;
  if (metric.contains === 'data') return bytes(value);
  if (metric.contains === 'time') return duration(value, unit);
  return String(Number(value.toFixed(6)));
}

const escapeXml = (text) =>
  String(text).replace(
    /[<>&'"]/g,
    (c) => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;', "'": '&apos;', '"': '&quot;' })[c],
  );

export function jUnit(data, options = {}) {
  const cases = [];
  let failures = 0;
  const classname = escapeXml(options.classname ?? 'Unnamed folder');
  for (const [name, metric] of Object.entries(data.metrics ?? {})) {
    for (const [expression, threshold] of Object.entries(metric.thresholds ?? {})) {
      const title = `${escapeXml(name)} - ${escapeXml(expression)}`;
      if (threshold.ok) {
        cases.push(`<testcase name="${title}" classname="${classname}" />`);
      } else {
        failures++;
        cases.push(
          `<testcase name="${title}" classname="${classname}"><failure message="failed" /></testcase>`,
        );
      }
    }
  }
  const name = escapeXml(options.name ?? 'k6 thresholds');
  return (
    `<?xml version="1.0"?>\n<testsuites tests="${cases.length}" failures="${failures}">\n` +
    `<testsuite name="${name}" tests="${cases.length}" failures="${failures}">${cases.join('\n')}\n` +
    '</testsuite>\n</testsuites>'
  );
}
