// `URL` and `URLSearchParams`. Needs `native.parseUrl` and `native.changeUrl`.
'use strict';

const escapeQuery = (text) =>
  encodeURIComponent(String(text)).replace(/%20/g, '+').replace(/[!'()~]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
const unescapeQuery = (text) => {
  try { return decodeURIComponent(text.replace(/\+/g, ' ')); } catch { return text; }
};

class URLSearchParams {
  #pairs = [];
  #changed;
  constructor(from = '', changed = () => {}) {
    this.#changed = changed;
    if (typeof from === 'string') this.#read(from);
    else if (typeof from[Symbol.iterator] === 'function') for (const [name, value] of from) this.#pairs.push([String(name), String(value)]);
    else for (const name of Object.keys(from)) this.#pairs.push([name, String(from[name])]);
  }
  #read(text) {
    for (const pair of text.replace(/^\?/, '').split('&').filter((pair) => pair !== '')) {
      const [name, ...rest] = pair.split('=');
      this.#pairs.push([unescapeQuery(name), unescapeQuery(rest.join('='))]);
    }
  }
  get size() { return this.#pairs.length; }
  append(name, value) { this.#pairs.push([String(name), String(value)]); this.#changed(this); }
  delete(name) { this.#pairs = this.#pairs.filter(([known]) => known !== String(name)); this.#changed(this); }
  get(name) { return this.#pairs.find(([known]) => known === String(name))?.[1] ?? null; }
  getAll(name) { return this.#pairs.filter(([known]) => known === String(name)).map(([, value]) => value); }
  has(name) { return this.#pairs.some(([known]) => known === String(name)); }
  set(name, value) {
    const at = this.#pairs.findIndex(([known]) => known === String(name));
    if (at === -1) return this.append(name, value);
    this.#pairs = this.#pairs.filter(([known], i) => known !== String(name) || i === at);
    this.#pairs[at][1] = String(value);
    this.#changed(this);
  }
  sort() { this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); this.#changed(this); }
  forEach(visit, self) { for (const [name, value] of this.#pairs) visit.call(self, value, name, this); }
  *keys() { for (const [name] of this.#pairs) yield name; }
  *values() { for (const [, value] of this.#pairs) yield value; }
  *entries() { for (const [name, value] of this.#pairs) yield [name, value]; }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#pairs.map(([name, value]) => `${escapeQuery(name)}=${escapeQuery(value)}`).join('&'); }
}

class URL {
  #parts;
  #searchParams;
  constructor(text, base) {
    const parts = native.parseUrl(String(text), base === undefined ? undefined : String(base));
    if (parts === null || parts === undefined) throw Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL', input: String(text) });
    this.#parts = parts;
  }
  static canParse(text, base) { return Boolean(native.parseUrl(String(text), base === undefined ? undefined : String(base))); }
  get searchParams() {
    this.#searchParams ??= new URLSearchParams(this.#parts.search, (params) => this.#change('search', params.toString()));
    return this.#searchParams;
  }
  #change(part, value) {
    const parts = native.changeUrl(this.#parts.href, part, String(value));
    if (parts) this.#parts = parts;
  }
  static {
    for (const part of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash']) {
      Object.defineProperty(URL.prototype, part, {
        enumerable: true,
        configurable: true,
        get() { return this.#parts[part]; },
        set(value) {
          if (part === 'origin') return;
          this.#change(part, value);
          if (part === 'search' || part === 'href') this.#searchParams = undefined;
        },
      });
    }
  }
  toString() { return this.#parts.href; }
  toJSON() { return this.#parts.href; }
}
