// Cookies by the jar and by hand, a form that is submitted, and redirects.
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 2, iterations: 4, maxRedirects: 4 };

export default function () {
  const url = __ENV.BASE_URL;
  const anonymous = http.get(`${url}/account`, { redirects: 0 });
  check(anonymous, { 'is sent to the login': (r) => r.status === 302 && r.headers.Location === '/login' });

  let res = http.get(`${url}/login`);
  check(res, { 'cookie is set': (r) => r.cookies.visit[0].value === '1' });
  res = res.submitForm({ formSelector: 'form', fields: { user: `ann${__VU}`, password: 'x' } });
  check(res, { 'account page': (r) => r.url === `${url}/account` && r.html('#user').text() === `ann${__VU}` });

  const jar = http.cookieJar();
  const cookies = jar.cookiesForURL(url);
  check(cookies, { 'session in the jar': (c) => c.session[0] === `ann${__VU}` });

  jar.set(url, 'session', 'other', { path: '/', max_age: 60 });
  check(http.get(`${url}/account`), { 'cookie of the jar': (r) => r.body.includes('other') });
  const byHand = http.get(`${url}/account`, { cookies: { session: { value: 'hand', replace: true } } });
  check(byHand, { 'cookie by hand': (r) => r.body.includes('>hand<') });
  jar.clear(url);
  check(http.get(`${url}/account`), { 'logged out': (r) => r.url.endsWith('/login') });
}
