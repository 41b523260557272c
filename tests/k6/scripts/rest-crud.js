// Registers a user, logs in, and creates, reads, changes and deletes an item of this user.
import http from 'k6/http';
import { check, group, fail } from 'k6';
import { randomString } from 'https://jslib.k6.io/k6-utils/1.2.0/index.js';

const BASE_URL = __ENV.BASE_URL || 'http://localhost:8080';

export const options = {
  vus: 3,
  iterations: 6,
  thresholds: {
    checks: ['rate>0.99'],
    http_req_failed: ['rate<0.01'],
    'http_req_duration{name:Item}': ['p(99)<2000'],
  },
};

const USERNAME = `${randomString(10)}-${__VU}`;
const PASSWORD = 'superSecret';

export function setup() {
  const res = http.get(`${BASE_URL}/health`);
  if (res.status !== 200) fail('the shop is not there');
}

export default function () {
  const name = `${USERNAME}-${__ITER}`;
  const registered = http.post(`${BASE_URL}/auth/register`, JSON.stringify({ username: name, password: PASSWORD }));
  check(registered, { 'created user': (r) => r.status === 201 });
  const loginRes = http.post(`${BASE_URL}/auth/login`, JSON.stringify({ username: name, password: PASSWORD }));
  const authToken = loginRes.json('access');
  check(authToken, { 'logged in successfully': () => authToken !== '' });

  const requestConfigWithTag = (tag) => ({
    headers: { Authorization: `Bearer ${authToken}` },
    tags: Object.assign({}, { name: 'PrivateItems' }, tag),
  });

  let URL = `${BASE_URL}/my/items`;

  group('01. Create a new item', () => {
    const payload = { name: `Name ${randomString(10)}`, size: 'M' };
    const res = http.post(URL, payload, requestConfigWithTag({ name: 'Create' }));
    if (check(res, { 'item created correctly': (r) => r.status === 201 })) {
      URL = `${URL}/${res.json('id')}`;
    } else {
      console.log(`Unable to create an item ${res.status} ${res.body}`);
      return;
    }
  });

  group('02. Fetch private items', () => {
    const res = http.get(`${BASE_URL}/my/items`, requestConfigWithTag({ name: 'Fetch' }));
    check(res, { 'retrieved items status': (r) => r.status === 200 });
    check(res.json(), { 'retrieved items list': (r) => r.length === 1 });
  });

  group('03. Update the item', () => {
    const headers = { 'Content-Type': 'application/json' };
    const config = requestConfigWithTag({ name: 'Item' });
    config.headers = { ...config.headers, ...headers };
    const res = http.patch(URL, JSON.stringify({ name: 'New name' }), config);
    const isSuccessfulUpdate = check(res, {
      'update worked': () => res.status === 200,
      'updated name is correct': () => res.json('name') === 'New name',
    });
    if (!isSuccessfulUpdate) console.log(`Unable to update the item ${res.status} ${res.body}`);
  });

  group('04. Delete the item', () => {
    const delRes = http.del(URL, null, requestConfigWithTag({ name: 'Item' }));
    check(null, { 'item was deleted correctly': () => delRes.status === 204 });
  });
}
