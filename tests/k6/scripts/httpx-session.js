// A session with a base URL, headers and tags, and test steps as functions.
import { check } from 'k6';
import { Httpx, Get, Post } from 'https://jslib.k6.io/httpx/0.1.0/index.js';

export const options = { iterations: 2, thresholds: { 'http_reqs{via:httpx}': ['count==12'] } };

const session = new Httpx({ baseURL: __ENV.BASE_URL, headers: { 'User-Agent': 'My custom user agent' }, timeout: 20000 });
session.addTag('via', 'httpx');

export default function () {
  const user = { username: `httpx-${__ITER}`, password: 'secret' };
  check(session.post('/auth/register', JSON.stringify(user)), { registered: (r) => r.status === 201 });
  const token = session.post('/auth/login', JSON.stringify(user)).json('access');
  session.addHeader('Authorization', `Bearer ${token}`);
  const created = session.post('/my/items', JSON.stringify({ name: 'pen' }), { headers: { 'Content-Type': 'application/json' } });
  check(created, { created: (r) => r.status === 201 });
  check(session.get('/my/items'), { listed: (r) => r.json('0.name') === 'pen' });
  const both = session.batch([new Get('/health'), new Post('/orders', '{"n":1}')], { tags: { name: 'both' } });
  check(both, { 'batch in order': (r) => r[0].json('status') === 'ok' && r[1].status === 201 });
}
