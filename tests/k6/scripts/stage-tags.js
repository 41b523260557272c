// Tags each request with the stage of the ramp, and measures each virtual user on its own.
import http from 'k6/http';
import exec from 'k6/execution';
import { sleep } from 'k6';
import { Trend } from 'k6/metrics';
import { check, tagWithCurrentStageIndex, tagWithCurrentStageProfile } from 'https://jslib.k6.io/k6-utils/1.5.0/index.js';

const VUS = 2;
const trends = [];
for (let i = 1; i <= VUS; i++) trends.push(new Trend(`duration_of_vu_${i}`, true));

export const options = {
  scenarios: {
    ramp: {
      executor: 'ramping-vus',
      startVUs: 1,
      stages: [
        { target: VUS, duration: '2s' },
        { target: VUS, duration: '2s' },
        { target: 0, duration: '500ms' },
      ],
    },
  },
  thresholds: {
    'http_reqs{stage:0}': ['count>0'],
    'http_reqs{stage:1}': ['count>0'],
    'http_reqs{stage_profile:ramp-up}': ['count>0'],
    'http_reqs{stage_profile:steady}': ['count>0'],
    'http_reqs{user:1}': ['count>0'],
    checks: ['rate==1'],
  },
};

export default async function () {
  tagWithCurrentStageIndex();
  tagWithCurrentStageProfile();
  exec.vu.tags.user = exec.vu.idInTest;
  const response = await http.asyncRequest('GET', `${__ENV.BASE_URL}/health`);
  trends[(exec.vu.idInTest - 1) % VUS].add(response.timings.duration);
  await check(response, {
    'asynchronous check': async (r) => {
      await Promise.resolve();
      return r.json('status') === 'ok';
    },
    'check': (r) => r.status === 200,
  });
  sleep(0.05);
}
