// Follows the links of a paginated list with a generator until the last page.
import http from 'k6/http';
import { check } from 'k6';

export const options = { iterations: 2, thresholds: { 'http_reqs{name:products page}': ['count==6'] } };

function* pages(path) {
  while (path) {
    const response = http.get(`${__ENV.BASE_URL}${path}`, { tags: { name: 'products page' } });
    const { results, next } = response.json();
    yield results;
    path = next;
  }
}

export default function () {
  const seen = new Set();
  for (const results of pages('/api/products')) results.forEach(({ id }) => seen.add(id));
  check(seen, { 'all products': (s) => s.size === 23, 'the last one': (s) => s.has(23) });
}
