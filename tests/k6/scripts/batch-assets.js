// A page and its assets in parallel, as a browser loads them: as an array and as an object.
import http from 'k6/http';
import { check } from 'k6';

export const options = { iterations: 2, batch: 10, batchPerHost: 4 };

export default function () {
  const url = __ENV.BASE_URL;
  const responses = http.batch([
    ['GET', `${url}/`, null, { tags: { kind: 'html' } }],
    ['GET', `${url}/assets/style.css`, null, { tags: { kind: 'css' } }],
    { method: 'POST', url: `${url}/orders`, body: JSON.stringify({ product: 1 }) },
    `${url}/health`,
  ]);
  check(responses[0], { 'main page 200': (res) => res.status === 200 });
  check(responses, { 'all in order': (all) => all.map((r) => r.status).join() === '200,200,201,200' });
  const named = http.batch({ front: `${url}/`, missing: { method: 'GET', url: `${url}/nothing` } });
  check(named, { 'by name': (r) => r.front.status === 200 && r.missing.status === 404 });
}
