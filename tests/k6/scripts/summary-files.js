// Writes the summary as JSON, HTML and JUnit, and as text to standard output.
import http from 'k6/http';
import { check } from 'k6';
import { jUnit, textSummary } from 'https://jslib.k6.io/k6-summary/0.0.1/index.js';

export const options = { iterations: 2, thresholds: { http_reqs: ['count==2'], checks: ['rate>0.9'] } };

export default function () {
  check(http.get(`${__ENV.BASE_URL}/health`), { 'status is 200': (r) => r.status === 200 });
}

const html = (data) => `<html><body><h1>${data.metrics.http_reqs.values.count} requests</h1>
${Object.entries(data.metrics)
  .filter(([, metric]) => metric.type === 'trend')
  .map(([name, metric]) => `<p>${name}: ${metric.values['p(95)'].toFixed(2)} ms</p>`)
  .join('\n')}</body></html>`;

export function handleSummary(data) {
  return {
    stdout: textSummary(data, { indent: '→', enableColors: false }),
    'summary.json': JSON.stringify(data, null, 2),
    'summary.html': html(data),
    './junit.xml': jUnit(data),
  };
}
