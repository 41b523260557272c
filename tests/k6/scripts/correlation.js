// Takes values out of one response and sends them in the next one: with JSON paths, a regular
// expression, the DOM, and text between two others.
import http from 'k6/http';
import { check } from 'k6';
import { findBetween } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';

export const options = { iterations: 2 };

export default function () {
  const list = http.get(`${__ENV.BASE_URL}/api/products`);
  const expensive = list.json('results.#(price>50).id');
  const names = list.json('results.#.name');
  check(list, {
    'first above 50': () => expensive === 6,
    'all names': () => names.length === 10 && names[9] === 'product 10',
    'count': (r) => r.json('count') === 23,
  });
  const one = http.get(`${__ENV.BASE_URL}/api/products/${expensive}`);
  check(one, { 'same product': (r) => r.json().price === 60 });

  const page = http.get(`${__ENV.BASE_URL}/login`);
  const byRegex = /name="csrf" value="([^"]+)"/.exec(page.body)[1];
  const byDom = page.html().find('input[name=csrf]').first().attr('value');
  const byText = findBetween(page.body, 'name="csrf" value="', '"');
  check(page, { 'same token three times': () => byRegex === byDom && byDom === byText && byText === 'c-42' });
}
