// Groups, nested groups, own tags, and thresholds on them.
import { group, check, sleep } from 'k6';
import http from 'k6/http';

export const options = {
  vus: 2,
  iterations: 4,
  summaryTrendStats: ['avg', 'p(95)', 'p(99.9)', 'count'],
  tags: { environment: 'test' },
  thresholds: {
    'http_req_duration{group:::user flow::product page}': ['p(95)<5000', 'avg<5000'],
    'http_reqs{kind:api}': ['count==8'],
    'http_reqs{environment:test}': ['count>=20'],
    'checks{page:home}': ['rate==1'],
    'group_duration{group:::user flow}': ['max<20000'],
    http_req_failed: [{ threshold: 'rate<0.5', abortOnFail: true, delayAbortEval: '1s' }],
  },
};

export default function () {
  group('user flow', function () {
    const res = http.get(`${__ENV.BASE_URL}/`);
    check(res, { 'home has a title': (r) => r.html('title').text() === 'Shop' }, { page: 'home' });
    group('product page', () => {
      http.get(`${__ENV.BASE_URL}/api/products/1`, { tags: { kind: 'api' } });
      http.get(`${__ENV.BASE_URL}/api/products/2`, { tags: { kind: 'api' } });
    });
    sleep(0.01);
  });
  group('assets', () => {
    ['a.css', 'b.css'].forEach((name) => http.get(http.url`${__ENV.BASE_URL}/assets/${name}`));
  });
}
