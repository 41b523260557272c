// Repeats a request until it succeeds, with growing pauses. The failed attempts are expected.
import http from 'k6/http';
import { check, sleep } from 'k6';
import { Counter } from 'k6/metrics';

const retried = new Counter('retried');
http.setResponseCallback(http.expectedStatuses({ min: 200, max: 399 }, 503));

export const options = { vus: 2, iterations: 2, thresholds: { retried: ['count==4'], http_req_failed: ['rate==0'] } };

function retry(limit, send) {
  for (let attempt = 1; ; attempt++) {
    const response = send();
    if (response.status < 500 || attempt >= limit) return response;
    retried.add(1);
    sleep(0.01 * 2 ** attempt);
  }
}

export default function () {
  const response = retry(5, () => http.get(`${__ENV.BASE_URL}/flaky/user-${__VU}`, { timeout: '10s' }));
  check(response, { 'third attempt': (r) => r.status === 200 && r.json('attempts') === 3 });
}
