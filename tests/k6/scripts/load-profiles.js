// One script, many profiles: smoke, ramp, spike and soak, chosen with -e PROFILE=NAME.
import http from 'k6/http';
import { check, sleep } from 'k6';

const profiles = {
  smoke: { vus: 1, iterations: 2 },
  ramp: { stages: [{ duration: '300ms', target: 4 }, { duration: '300ms', target: 4 }, { duration: '200ms', target: 0 }] },
  spike: {
    stages: [
      { duration: '200ms', target: 1 },
      { duration: '50ms', target: 12 },
      { duration: '400ms', target: 12 },
      { duration: '50ms', target: 1 },
      { duration: '200ms', target: 0 },
    ],
  },
  soak: { vus: 2, duration: '1s' },
};

export const options = {
  ...profiles[__ENV.PROFILE || 'smoke'],
  thresholds: {
    http_req_failed: ['rate<0.01'],
    http_req_duration: ['p(99)<5000'],
    vus: [`value<=${__ENV.PROFILE === 'spike' ? 12 : 4}`],
  },
};

export default () => {
  const res = http.get(`${__ENV.BASE_URL}/health`);
  check(res, { 'is up': (r) => r.json('status') === 'ok' });
  sleep(0.05);
};
