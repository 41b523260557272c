// Readers follow short links at a constant rate, while editors create more of them.
// The target is `loadline lab shortener`; BASE_URL, TOKEN and DURATION change the test.
import { check, group, sleep } from 'k6';
import crypto from 'k6/crypto';
import { SharedArray } from 'k6/data';
import encoding from 'k6/encoding';
import http from 'k6/http';
import { Counter, Trend } from 'k6/metrics';
import { randomItem } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';

const BASE_URL = __ENV.BASE_URL || 'http://127.0.0.1:8080';
const SECRET = __ENV.TOKEN || 'demo';
const DURATION = __ENV.DURATION || '30s';

const pages = new SharedArray('pages', () => JSON.parse(open('./links.json')));
const created = new Counter('links_created');
const createTime = new Trend('link_create_time', true);

export const options = {
  scenarios: {
    readers: {
      executor: 'constant-arrival-rate',
      rate: 50,
      duration: DURATION,
      preAllocatedVUs: 10,
      maxVUs: 50,
      exec: 'read',
    },
    editors: {
      executor: 'ramping-vus',
      stages: [
        { duration: DURATION, target: 5 },
        { duration: '2s', target: 0 },
      ],
      exec: 'edit',
    },
  },
  thresholds: {
    checks: ['rate>0.99'],
    http_req_failed: ['rate<0.01'],
    'http_req_duration{name:follow}': ['p(95)<100'],
    link_create_time: ['p(95)<250'],
  },
};

/** Returns a token that is signed with the target's secret. */
function token() {
  const part = (value) => encoding.b64encode(JSON.stringify(value), 'rawurl');
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: 'editor' })}`;
  return `${signed}.${crypto.hmac('sha256', SECRET, signed, 'base64rawurl')}`;
}

/** Creates a short link and returns its address. */
function create(url, authorization) {
  const body = JSON.stringify({ url, expires: '2030-01-01T00:00:00Z' });
  const headers = { 'Content-Type': 'application/json', Authorization: authorization };
  const response = http.post(`${BASE_URL}/actions/short-urls`, body, {
    headers,
    tags: { name: 'create' },
  });
  check(response, { 'link is created': (r) => r.status === 201 });
  createTime.add(response.timings.duration);
  return response.json('shortUrl');
}

export function setup() {
  const authorization = `Bearer ${token()}`;
  return { authorization, links: pages.map((page) => create(page, authorization)) };
}

export function read(data) {
  const path = randomItem(data.links).replace(/^https?:\/\/[^/]+/, '');
  const response = http.get(`${BASE_URL}${path}`, { redirects: 0, tags: { name: 'follow' } });
  check(response, {
    'link leads to a page': (r) => r.status === 302 && pages.includes(r.headers.Location),
  });
}

export function edit(data) {
  group('create and test a link', () => {
    const link = create(randomItem(pages), data.authorization);
    created.add(1);
    sleep(0.5);
    http.get(link, { redirects: 0, tags: { name: 'follow' } });
  });
  sleep(1);
}
