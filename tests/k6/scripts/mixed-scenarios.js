// Browsers, buyers and an admin: each scenario has its own function, variables, tags and start.
import http from 'k6/http';
import { check, sleep } from 'k6';
import exec from 'k6/execution';

export const options = {
  scenarios: {
    browse: {
      executor: 'constant-vus',
      exec: 'browse',
      vus: 2,
      duration: '1s',
      env: { PAGE: '2' },
      tags: { role: 'visitor' },
    },
    buy: {
      executor: 'per-vu-iterations',
      exec: 'buy',
      vus: 2,
      iterations: 3,
      startTime: '200ms',
      maxDuration: '20s',
      env: { CURRENCY: 'EUR' },
      tags: { role: 'buyer' },
    },
    admin: { executor: 'shared-iterations', exec: 'admin', vus: 1, iterations: 1, startTime: '400ms' },
  },
  thresholds: {
    'http_reqs{role:buyer}': ['count==6'],
    'checks{scenario:browse}': ['rate==1'],
    'checks{scenario:buy}': ['rate==1'],
    'iterations{scenario:admin}': ['count==1'],
  },
};

export function browse() {
  const res = http.get(`${__ENV.BASE_URL}/api/products?page=${__ENV.PAGE}`);
  check(res, { 'second page': (r) => r.json('results.0.id') === 11, 'no currency': () => __ENV.CURRENCY === undefined });
  sleep(0.1);
}

export function buy() {
  const body = { product: exec.scenario.iterationInTest, currency: __ENV.CURRENCY };
  const headers = { 'Content-Type': 'application/json' };
  const res = http.post(`${__ENV.BASE_URL}/orders`, JSON.stringify(body), { headers });
  check(res, { ordered: (r) => r.status === 201 && r.json('currency') === 'EUR' });
}

export function admin() {
  http.get(`${__ENV.BASE_URL}/health?admin=${exec.scenario.name}`);
}
