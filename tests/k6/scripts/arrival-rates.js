// Constant and ramping arrival rates: the number of iterations does not depend on the service.
import http from 'k6/http';
import exec from 'k6/execution';

export const options = {
  discardResponseBodies: true,
  scenarios: {
    constant: {
      executor: 'constant-arrival-rate',
      rate: 600,
      timeUnit: '1m',
      duration: '1s',
      preAllocatedVUs: 30,
      maxVUs: 40,
      tags: { shape: 'constant' },
    },
    ramping: {
      executor: 'ramping-arrival-rate',
      startRate: 0,
      timeUnit: '1s',
      preAllocatedVUs: 30,
      maxVUs: 40,
      stages: [{ target: 20, duration: '500ms' }, { target: 20, duration: '500ms' }],
      exec: 'search',
    },
  },
  thresholds: {
    'http_reqs{shape:constant}': ['count==10'],
    'iterations{scenario:ramping}': ['count==15'],
    dropped_iterations: ['count==0'],
  },
};

export default function () {
  const response = http.get(`${__ENV.BASE_URL}/health?n=${exec.scenario.iterationInTest}`);
  if (response.body !== null) exec.test.abort('the body was kept');
}

export function search() {
  http.get(`${__ENV.BASE_URL}/api/search?q=product`, { responseType: 'text' });
}
