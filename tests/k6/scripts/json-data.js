// Test data from a JSON file, and one random element of it per iteration.
import http from 'k6/http';
import { check } from 'k6';
import { SharedArray } from 'k6/data';
import { randomItem } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';

const { currency } = JSON.parse(open('./data/products.json'));
const ids = new SharedArray('ids', () => JSON.parse(open('data/products.json')).ids);
const raw = open('./data/products.json', 'b');

export const options = { vus: 2, iterations: 8 };

export default function () {
  const id = randomItem(ids);
  const res = http.get(`${__ENV.BASE_URL}/api/products/${id}`, { tags: { name: 'product' } });
  check(res, {
    'is one of the file': (r) => [3, 5, 7, 11].includes(r.json('id')),
    'currency': () => currency === 'EUR',
    'bytes': () => raw.byteLength > 20 && new Uint8Array(raw)[0] === '{'.charCodeAt(0),
  });
}
