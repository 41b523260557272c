// Defines `fetch` and the classes around it. Evaluated once for each instance, as the body of a
// function with the argument `native`.
'use strict';

const define = (name, value) =>
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

class AbortSignal {
  aborted = false;
  reason = undefined;
  onabort = null;
  #listeners = [];
  addEventListener(name, listener) { if (name === 'abort') this.#listeners.push(listener); }
  removeEventListener(name, listener) { this.#listeners = this.#listeners.filter((known) => known !== listener); }
  throwIfAborted() { if (this.aborted) throw this.reason; }
  _abort(reason) {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const event = { type: 'abort', target: this };
    this.onabort?.(event);
    for (const listener of this.#listeners) listener.call(this, event);
  }
  static abort(reason = aborted('AbortError', 'This operation was aborted')) {
    const signal = new AbortSignal();
    signal._abort(reason);
    return signal;
  }
  static timeout(ms) {
    const signal = new AbortSignal();
    setTimeout(() => signal._abort(aborted('TimeoutError', 'The operation was aborted due to timeout')), ms);
    return signal;
  }
}
const aborted = (name, message) => Object.assign(new Error(message), { name, code: name === 'AbortError' ? 'ABORT_ERR' : 'ETIMEDOUT' });
class AbortController {
  signal = new AbortSignal();
  abort(reason = aborted('AbortError', 'This operation was aborted')) { this.signal._abort(reason); }
}

class Headers {
  #pairs = [];
  constructor(from = {}) {
    const pairs = from instanceof Headers || Array.isArray(from) ? [...from] : Object.entries(from ?? {});
    for (const [name, value] of pairs) this.append(name, value);
  }
  append(name, value) {
    const lower = String(name).toLowerCase();
    const known = this.#pairs.find(([key]) => key === lower);
    // Cookies cannot be joined.
    if (known && lower !== 'set-cookie') known[1] += `, ${value}`;
    else this.#pairs.push([lower, String(value).trim()]);
  }
  set(name, value) { this.delete(name); this.append(name, value); }
  get(name) {
    const values = this.#pairs.filter(([key]) => key === String(name).toLowerCase()).map(([, value]) => value);
    return values.length > 0 ? values.join(', ') : null;
  }
  has(name) { return this.get(name) !== null; }
  delete(name) { this.#pairs = this.#pairs.filter(([key]) => key !== String(name).toLowerCase()); }
  getSetCookie() { return this.#pairs.filter(([key]) => key === 'set-cookie').map(([, value]) => value); }
  forEach(visit, self) { for (const [name, value] of this) visit.call(self, value, name, this); }
  *entries() { yield* [...this.#pairs].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); }
  *keys() { for (const [name] of this) yield name; }
  *values() { for (const [, value] of this) yield value; }
  [Symbol.iterator]() { return this.entries(); }
}

class FormData {
  #pairs = [];
  append(name, value) { this.#pairs.push([String(name), String(value)]); }
  set(name, value) { this.delete(name); this.append(name, value); }
  get(name) { return this.#pairs.find(([known]) => known === name)?.[1] ?? null; }
  getAll(name) { return this.#pairs.filter(([known]) => known === name).map(([, value]) => value); }
  has(name) { return this.#pairs.some(([known]) => known === name); }
  delete(name) { this.#pairs = this.#pairs.filter(([known]) => known !== name); }
  *entries() { yield* this.#pairs; }
  *keys() { for (const [name] of this.#pairs) yield name; }
  *values() { for (const [, value] of this.#pairs) yield value; }
  forEach(visit, self) { for (const [name, value] of this.#pairs) visit.call(self, value, name, this); }
  [Symbol.iterator]() { return this.entries(); }
  _encode() {
    const boundary = `----formdata-${native.decode(native.randomBytes(12), 'hex')}`;
    const escape = (text) => text.replace(/\r\n?|\n/g, '%0D%0A').replace(/"/g, '%22');
    const parts = this.#pairs.map(
      ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${escape(name)}"\r\n\r\n${value}\r\n`,
    );
    return [`${parts.join('')}--${boundary}--\r\n`, `multipart/form-data; boundary=${boundary}`];
  }
}

class Body {
  #bytes;
  bodyUsed = false;
  constructor(bytes) { this.#bytes = bytes; }
  #take() {
    if (this.bodyUsed) throw new TypeError('Body is unusable: Body has already been read');
    this.bodyUsed = true;
    return this.#bytes;
  }
  async arrayBuffer() { const bytes = this.#take(); return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength); }
  async bytes() { return new Uint8Array(this.#take()); }
  async text() { return native.decode(this.#take(), 'utf8'); }
  async json() { return JSON.parse(native.decode(this.#take(), 'utf8')); }
  _copy() { return this.#bytes; }
}

/// Returns the bytes of a body and its content type.
const encoded = (body) => {
  if (body === undefined || body === null) return [new Uint8Array(0), undefined];
  if (body instanceof URLSearchParams) return [native.bytesOf(body.toString()), 'application/x-www-form-urlencoded;charset=UTF-8'];
  if (body instanceof FormData) {
    const [text, type] = body._encode();
    return [native.bytesOf(text), type];
  }
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return [native.bytesOf(body), undefined];
  return [native.bytesOf(String(body)), 'text/plain;charset=UTF-8'];
};

class Request extends Body {
  constructor(from, init = {}) {
    const base = from instanceof Request ? from : undefined;
    const [bytes, type] = init.body === undefined && base ? [base._copy(), undefined] : encoded(init.body);
    super(bytes);
    this.url = base ? base.url : new URL(String(from)).href;
    this.method = String(init.method ?? base?.method ?? 'GET');
    if (/^(get|head|post|put|delete|options)$/i.test(this.method)) this.method = this.method.toUpperCase();
    this.headers = new Headers(init.headers ?? base?.headers);
    if (type !== undefined && !this.headers.has('content-type')) this.headers.set('content-type', type);
    this.redirect = init.redirect ?? base?.redirect ?? 'follow';
    this.signal = init.signal ?? base?.signal ?? null;
    if (bytes.length > 0 && (this.method === 'GET' || this.method === 'HEAD')) {
      throw new TypeError('Request with GET/HEAD method cannot have body.');
    }
  }
  clone() { return new Request(this); }
}

class Response extends Body {
  constructor(body, init = {}) {
    const [bytes, type] = encoded(body);
    super(bytes);
    this.status = init.status ?? 200;
    this.ok = this.status >= 200 && this.status < 300;
    this.statusText = init.statusText ?? '';
    this.headers = new Headers(init.headers);
    if (type !== undefined && !this.headers.has('content-type')) this.headers.set('content-type', type);
    this.url = init.url ?? '';
    this.redirected = init.redirected ?? false;
    this.type = 'basic';
  }
  clone() { return new Response(this._copy(), this); }
  static json(value, init = {}) {
    return new Response(JSON.stringify(value), { ...init, headers: { 'content-type': 'application/json', ...init.headers } });
  }
}

const failed = (cause) => Object.assign(new TypeError('fetch failed'), { cause, code: cause.code });

async function fetch(resource, init) {
  const request = new Request(resource, init ?? {});
  const { signal } = request;
  signal?.throwIfAborted();
  const headers = new Headers(request.headers);
  for (const [name, value] of [
    ['accept', '*/*'],
    ['accept-language', '*'],
    ['user-agent', 'node'],
    ['accept-encoding', 'gzip, deflate'],
  ]) {
    if (!headers.has(name)) headers.set(name, value);
  }
  const order = {
    method: request.method,
    url: request.url.replace(/#.*$/, ''),
    headers: [...headers],
    body: request._copy(),
    follows: request.redirect === 'follow',
    unpacks: true,
    timeout: 300_000,
  };
  return new Promise((resolve, reject) => {
    const id = native.send(order, (error, result) => {
      if (error) {
        reject(signal?.aborted ? signal.reason : failed(error));
        return;
      }
      if (request.redirect === 'error' && result.status >= 300 && result.status < 400 && result.status !== 304) {
        reject(failed(new Error('unexpected redirect')));
        return;
      }
      const redirected = result.url !== order.url;
      resolve(new Response(result.body, { status: result.status, statusText: native.statusText(result.status), headers: result.headers, url: result.url, redirected }));
    });
    signal?.addEventListener('abort', () => native.abortSend(id));
  });
}

const STATUS = {
  100: 'Continue', 101: 'Switching Protocols', 200: 'OK', 201: 'Created', 202: 'Accepted', 203: 'Non-Authoritative Information', 204: 'No Content',
  205: 'Reset Content', 206: 'Partial Content', 207: 'Multi-Status', 300: 'Multiple Choices', 301: 'Moved Permanently', 302: 'Found', 303: 'See Other',
  304: 'Not Modified', 307: 'Temporary Redirect', 308: 'Permanent Redirect', 400: 'Bad Request', 401: 'Unauthorized', 402: 'Payment Required',
  403: 'Forbidden', 404: 'Not Found', 405: 'Method Not Allowed', 406: 'Not Acceptable', 407: 'Proxy Authentication Required', 408: 'Request Timeout',
  409: 'Conflict', 410: 'Gone', 411: 'Length Required', 412: 'Precondition Failed', 413: 'Payload Too Large', 414: 'URI Too Long',
  415: 'Unsupported Media Type', 416: 'Range Not Satisfiable', 417: 'Expectation Failed', 418: "I'm a Teapot", 421: 'Misdirected Request',
  422: 'Unprocessable Entity', 423: 'Locked', 424: 'Failed Dependency', 425: 'Too Early', 426: 'Upgrade Required', 428: 'Precondition Required',
  429: 'Too Many Requests', 431: 'Request Header Fields Too Large', 451: 'Unavailable For Legal Reasons', 500: 'Internal Server Error',
  501: 'Not Implemented', 502: 'Bad Gateway', 503: 'Service Unavailable', 504: 'Gateway Timeout', 505: 'HTTP Version Not Supported',
  507: 'Insufficient Storage', 508: 'Loop Detected', 511: 'Network Authentication Required',
};
native.statuses = STATUS;
native.statusText = (status) => STATUS[status] ?? '';
native.aborted = aborted;

for (const [name, value] of Object.entries({ AbortController, AbortSignal, FormData, Headers, Request, Response, fetch })) define(name, value);
