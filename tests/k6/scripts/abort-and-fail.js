// Stops the whole test if the service does not give what the test needs.
import http from 'k6/http';
import exec from 'k6/execution';
import { check, sleep } from 'k6';

export const options = { vus: 2, duration: '20s' };

export default function () {
  const response = http.get(`${__ENV.BASE_URL}/api/products/4000`);
  if (!check(response, { 'product exists': (r) => r.status === 200 })) {
    exec.test.abort(`no product: ${response.json('error')}`);
  }
  sleep(1);
}

export function teardown() {
  http.get(`${__ENV.BASE_URL}/health?teardown=1`);
}
