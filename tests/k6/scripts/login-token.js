// Logs in once in setup; all users send its token.
import http from 'k6/http';
import { check, sleep } from 'k6';

export let options = {
  stages: [
    { duration: '300ms', target: 3 },
    { duration: '400ms', target: 3 },
    { duration: '100ms', target: 0 },
  ],
  thresholds: { 'http_req_duration': ['p(95)<5000'], 'checks': ['rate==1'] },
};

const BASE_URL = __ENV.BASE_URL;

export function setup() {
  const payload = JSON.stringify({ username: 'demo', password: 'demo' });
  const params = { headers: { 'Content-Type': 'application/json' } };
  const login = http.post(BASE_URL + '/auth/login', payload, params);
  check(login, { 'has token': (r) => r.json().access.length > 0 });
  return { token: login.json('access'), startedAt: new Date().toISOString() };
}

export default function (data) {
  let params = { headers: { Authorization: `Bearer ${data.token}` } };
  let res = http.get(`${BASE_URL}/my/items`, params);
  check(res, {
    'status is 200': (r) => r.status == 200,
    'is an array': (r) => Array.isArray(r.json()),
    'has data of setup': () => !isNaN(Date.parse(data.startedAt)),
  });
  sleep(0.1);
}

export function teardown(data) {
  http.get(`${BASE_URL}/health?token=${data.token}`);
}
