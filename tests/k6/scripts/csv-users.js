// Users from a CSV file, parsed once and shared by all virtual users.
import http from 'k6/http';
import { check } from 'k6';
import { SharedArray } from 'k6/data';
import { scenario } from 'k6/execution';
import papaparse from 'https://jslib.k6.io/papaparse/5.1.1/index.js';

const csvData = new SharedArray('users from a file', function () {
  return papaparse.parse(open('./data/users.csv'), { header: true, skipEmptyLines: true }).data;
});

export const options = {
  scenarios: {
    'use-all-the-data': { executor: 'shared-iterations', vus: 2, iterations: csvData.length, maxDuration: '20s' },
  },
};

export default function () {
  const user = csvData[scenario.iterationInTest];
  const payload = JSON.stringify({ username: user.username, password: user.password });
  const res = http.post(`${__ENV.BASE_URL}/auth/register`, payload);
  check(res, { 'registered': (r) => r.status === 201 });
  check(http.post(`${__ENV.BASE_URL}/auth/login`, payload), { 'logged in': (r) => r.json('access') === `token-${user.username}` });
  check(csvData, { 'is shared': (all) => all.length === 3 && all.map((u) => u.role).join() === 'admin,user,user' });
}
