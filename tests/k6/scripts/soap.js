// A SOAP call, whose XML response is read with selectors.
import http from 'k6/http';
import { check } from 'k6';

export const options = { iterations: 2 };

const envelope = (number) => `<?xml version="1.0"?>
<Envelope><Body><Square><number>${number}</number></Square></Body></Envelope>`;

export default function () {
  const headers = { 'Content-Type': 'text/xml; charset=utf-8', SOAPAction: '"Square"' };
  const res = http.post(`${__ENV.BASE_URL}/soap`, envelope(__ITER + 3), { headers });
  check(res, {
    'is XML': (r) => r.headers['Content-Type'] === 'text/xml',
    'the square': (r) => r.html().find('square').text() === String((__ITER + 3) ** 2),
  });
}
