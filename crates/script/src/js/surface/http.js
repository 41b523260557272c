'use strict';

const EventEmitter = require('events');

class IncomingMessage extends EventEmitter {
  #encoding;
  #bytes;
  #flows = false;
  constructor(result) {
    super();
    this.statusCode = result.status;
    this.statusMessage = native.statusText(result.status);
    this.httpVersion = '1.1';
    this.url = '';
    this.complete = true;
    this.headers = {};
    this.rawHeaders = result.headers.flat();
    for (const [name, value] of result.headers) {
      if (name === 'set-cookie') (this.headers[name] ??= []).push(value);
      else this.headers[name] = name in this.headers ? `${this.headers[name]}, ${value}` : value;
    }
    this.#bytes = result.body;
  }
  setEncoding(encoding) { this.#encoding = encoding; return this; }
  on(name, listener) {
    super.on(name, listener);
    if (name === 'data') this.resume();
    return this;
  }
  resume() {
    if (this.#flows) return this;
    this.#flows = true;
    queueMicrotask(() => {
      const chunk = Buffer.from(this.#bytes);
      if (chunk.length > 0) this.emit('data', this.#encoding ? chunk.toString(this.#encoding) : chunk);
      this.emit('end');
      this.emit('close');
    });
    return this;
  }
  pause() { return this; }
  destroy() { return this; }
  pipe(target) {
    this.on('end', () => target.end?.());
    this.on('data', (chunk) => target.write(chunk));
    return target;
  }
  async *[Symbol.asyncIterator]() {
    const chunk = Buffer.from(this.#bytes);
    if (chunk.length > 0) yield this.#encoding ? chunk.toString(this.#encoding) : chunk;
  }
}

class ClientRequest extends EventEmitter {
  #parts = [];
  #headers = new Map();
  #options;
  #id;
  #isDone = false;
  constructor(options, onResponse) {
    super();
    this.#options = options;
    this.method = (options.method ?? 'GET').toUpperCase();
    this.path = options.path ?? '/';
    this.host = options.hostname ?? options.host ?? 'localhost';
    this.protocol = options.protocol;
    for (const [name, value] of Object.entries(options.headers ?? {})) this.setHeader(name, value);
    if (options.auth && !this.getHeader('authorization')) {
      this.setHeader('Authorization', `Basic ${Buffer.from(options.auth).toString('base64')}`);
    }
    if (options.timeout) this.setTimeout(options.timeout);
    if (onResponse) this.once('response', onResponse);
    options.signal?.addEventListener('abort', () => this.destroy(options.signal.reason));
  }
  setHeader(name, value) { this.#headers.set(String(name).toLowerCase(), [name, Array.isArray(value) ? value.map(String) : [String(value)]]); return this; }
  getHeader(name) { return this.#headers.get(String(name).toLowerCase())?.[1].join(', '); }
  removeHeader(name) { this.#headers.delete(String(name).toLowerCase()); }
  setTimeout(ms, onTimeout) {
    if (onTimeout) this.once('timeout', onTimeout);
    setTimeout(() => { if (!this.#isDone) this.emit('timeout'); }, ms);
    return this;
  }
  setNoDelay() { return this; }
  setSocketKeepAlive() { return this; }
  flushHeaders() {}
  write(data, encoding, done) {
    this.#parts.push(Buffer.from(native.bytesOf(data, typeof encoding === 'string' ? encoding : undefined)));
    const called = typeof encoding === 'function' ? encoding : done;
    if (called) queueMicrotask(called);
    return true;
  }
  end(data, encoding) {
    if (typeof data === 'string' || ArrayBuffer.isView(data)) this.write(data, encoding);
    if (this.#isDone || this.#id !== undefined) return this;
    const { protocol, port } = this.#options;
    const host = this.host.includes(':') && !this.host.startsWith('[') ? `[${this.host}]` : this.host;
    const order = {
      method: this.method,
      url: `${protocol}//${host}${port ? `:${port}` : ''}${this.path}`,
      headers: [...this.#headers.values()].flatMap(([name, values]) => values.map((value) => [name, value])),
      body: native.bytesOf(Buffer.concat(this.#parts)),
      follows: false,
      unpacks: false,
      timeout: 300_000,
    };
    this.#id = native.send(order, (error, result) => {
      if (this.#isDone) return;
      this.#isDone = true;
      if (error) {
        this.emit('error', error);
      } else {
        const response = new IncomingMessage(result);
        if (!this.emit('response', response)) response.resume();
      }
      this.emit('close');
    });
    this.emit('finish');
    return this;
  }
  destroy(error = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })) {
    if (this.#isDone) return this;
    this.#isDone = true;
    if (this.#id !== undefined) native.abortSend(this.#id);
    queueMicrotask(() => { this.emit('error', error); this.emit('close'); });
    return this;
  }
  abort() { return this.destroy(); }
}

class Agent {
  constructor(options = {}) { this.options = options; }
  destroy() {}
}

const fromUrl = (url) => ({
  protocol: url.protocol,
  hostname: url.hostname,
  port: url.port,
  path: url.pathname + url.search,
  auth: url.username ? `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` : undefined,
});
const forScheme = (protocol) => {
  const request = (from, options, onResponse) => {
    if (typeof options === 'function') [options, onResponse] = [undefined, options];
    const given = typeof from === 'string' ? fromUrl(new URL(from)) : from instanceof URL ? fromUrl(from) : from;
    const all = { ...given, ...options };
    if (all.protocol && all.protocol !== protocol) {
      throw Object.assign(new TypeError(`Protocol "${all.protocol}" not supported. Expected "${protocol}"`), { code: 'ERR_INVALID_PROTOCOL' });
    }
    return new ClientRequest({ ...all, protocol }, onResponse);
  };
  return {
    request,
    get: (...values) => request(...values).end(),
    Agent,
    globalAgent: new Agent(),
    METHODS: ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'],
    STATUS_CODES: native.statuses,
    ClientRequest,
    IncomingMessage,
  };
};
module.exports = forScheme('http:');
Object.defineProperty(module.exports, 'forScheme', { value: forScheme });
