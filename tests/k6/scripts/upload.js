// Uploads files: one with http.file, several with FormData.
import http from 'k6/http';
import { check } from 'k6';
import { FormData } from 'https://jslib.k6.io/formdata/0.0.2/index.js';

const binFile = open('./data/products.json', 'b');

export const options = { iterations: 2 };

export default function () {
  const data = { field: 'this is a standard form field', file: http.file(binFile, 'test.bin') };
  const res = http.post(`${__ENV.BASE_URL}/upload`, data);
  check(res, {
    'one file': (r) => r.json('files.file.name') === 'test.bin' && r.json('files.file.size') === binFile.byteLength,
    'its type': (r) => r.json('files.file.type') === 'application/octet-stream',
    'a field': (r) => r.json('fields.field') === 'this is a standard form field',
  });

  const fd = new FormData();
  fd.append('description', 'two files');
  fd.append('text', { data: 'hello', filename: 'a.txt', content_type: 'text/plain' });
  fd.append('json', http.file(binFile, 'b.json', 'application/json'));
  const headers = { 'Content-Type': `multipart/form-data; boundary=${fd.boundary}` };
  const both = http.post(`${__ENV.BASE_URL}/upload`, fd.body(), { headers });
  check(both, {
    'two files': (r) => Object.keys(r.json('files')).length === 2,
    'type of a text': (r) => r.json('files.text.type') === 'text/plain',
    'description': (r) => r.json('fields.description') === 'two files',
  });
}
