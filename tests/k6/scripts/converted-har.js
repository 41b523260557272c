// In the style of scripts that are converted from a recording of a browser or a Postman collection.
import { sleep, group, check } from 'k6';
import http from 'k6/http';

export const options = { maxRedirects: 0, iterations: 2 };

const globals = new Map();

export default function main() {
  let response;

  group('page_1 - ' + __ENV.BASE_URL, function () {
    response = http.batch([
      {
        method: 'get',
        url: __ENV.BASE_URL + '/',
        params: {
          headers: {
            'upgrade-insecure-requests': '1',
            'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36',
            'accept-encoding': 'gzip, deflate',
            'sec-ch-ua': '"Chromium";v="120"',
          },
        },
      },
      {
        method: 'post',
        url: __ENV.BASE_URL + '/auth/login',
        body: '{"username":"demo","password":"demo"}',
        params: { cookies: { _ga: 'GA1.1' }, headers: { 'content-type': 'application/json;charset=UTF-8' } },
      },
    ]);
    globals.set('token', response[1].json()['access']);
    check(response, { 'both answered': (r) => r[0].status === 200 && r[1].status === 200 });
    sleep(0.02);
  });

  group('Create item', function () {
    const request = {
      method: 'POST',
      address: `${__ENV.BASE_URL}/my/items`,
      data: { 'name': 'pen & paper', 'sizes[]': ['S', 'M'] },
      headers: { Authorization: `Bearer ${globals.get('token')}` },
    };
    response = http.request(request.method, request.address, request.data, { headers: request.headers });
    check(response, {
      'created': (r) => r.status === 201,
      'form': (r) => r.request.body === 'name=pen+%26+paper&sizes%5B%5D=S&sizes%5B%5D=M',
      'location': (r) => r.headers['Location'] === `/my/items/${r.json('id')}`,
    });
    response = http.get(`${__ENV.BASE_URL}/account`);
    check(response, { 'redirect is not followed': (r) => r.status === 302 });
  });
}
