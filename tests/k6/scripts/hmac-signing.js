// Signs each request with HMAC, and makes a token of its own.
import http from 'k6/http';
import crypto from 'k6/crypto';
import encoding from 'k6/encoding';
import { check } from 'k6';

export const options = { iterations: 3 };

const SECRET = __ENV.SECRET || 'shop-secret';

function sign(method, path, date, body = '') {
  const hasher = crypto.createHMAC('sha256', SECRET);
  hasher.update(`${method}\n${path}\n${date}\n`);
  hasher.update(body);
  return hasher.digest('hex');
}

function jwt(payload) {
  const part = (value) => encoding.b64encode(JSON.stringify(value), 'rawurl');
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(payload)}`;
  return `${signed}.${crypto.hmac('sha256', SECRET, signed, 'base64rawurl')}`;
}

export default function () {
  const date = new Date().toUTCString();
  const body = JSON.stringify({ amount: 10, id: crypto.md5(String(__ITER), 'hex') });
  const headers = { 'X-Date': date, 'X-Signature': sign('POST', '/signed', date, body) };
  check(http.post(`${__ENV.BASE_URL}/signed`, body, { headers }), { 'signature is right': (r) => r.status === 200 });
  headers['X-Signature'] = headers['X-Signature'].replace(/./, 'g');
  const expected = { responseCallback: http.expectedStatuses(403) };
  check(http.post(`${__ENV.BASE_URL}/signed`, body, { headers, ...expected }), { 'or not': (r) => r.status === 403 });
  const token = jwt({ sub: 'ann', exp: 4102444800 });
  const claims = JSON.parse(encoding.b64decode(token.split('.')[1], 'rawurl', 's'));
  check(claims, { 'token can be read': (c) => c.sub === 'ann' && token.split('.').length === 3 });
}
