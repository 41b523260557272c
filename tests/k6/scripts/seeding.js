// Creates data: a fixed number of items per user, and a number that users share.
import http from 'k6/http';
import { check } from 'k6';
import exec from 'k6/execution';
import { uuidv4, randomIntBetween } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';

export const options = {
  scenarios: {
    perUser: { executor: 'per-vu-iterations', vus: 2, iterations: 3, exec: 'create', env: { KIND: 'own' } },
    shared: { executor: 'shared-iterations', vus: 3, iterations: 7, exec: 'create', env: { KIND: 'shared' } },
  },
  thresholds: { checks: ['rate==1'], iterations: ['count==13'] },
};

export function create() {
  const item = { key: uuidv4(), kind: __ENV.KIND, number: exec.scenario.iterationInTest, size: randomIntBetween(1, 5) };
  const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer token-demo' };
  const response = http.post(`${__ENV.BASE_URL}/my/items`, JSON.stringify(item), { headers });
  check(response, { created: (r) => r.status === 201 && r.json('key') === item.key });
}
