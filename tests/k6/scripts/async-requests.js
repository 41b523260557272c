// Asynchronous requests: await, Promise.all, and a race against a timer.
import http from 'k6/http';
import { check } from 'k6';
import { setTimeout } from 'k6/timers';

export const options = { iterations: 2 };

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export default async function () {
  const url = __ENV.BASE_URL;
  const first = await http.asyncRequest('GET', `${url}/api/products/1`);
  check(first, { 'awaited': (r) => r.json('id') === 1 });

  const ids = [2, 3, 4];
  const all = await Promise.all(ids.map((id) => http.asyncRequest('GET', `${url}/api/products/${id}`)));
  check(all, { 'all in order': (rs) => rs.map((r) => r.json('id')).join() === '2,3,4' });

  const winner = await Promise.race([wait(300).then(() => 'timer'), wait(10).then(() => 'fast timer')]);
  check(winner, { 'the first one wins': (w) => w === 'fast timer' });
  const settled = await Promise.allSettled([Promise.reject(new Error('no')), http.asyncRequest('POST', `${url}/orders`, '{}')]);
  check(settled, { 'all settled': ([a, b]) => a.status === 'rejected' && b.value.status === 201 });
}
