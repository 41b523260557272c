// Defines the globals of Node.js that scripts use. Evaluated once for each instance, as the body of
// a function with the argument `native`.
'use strict';

const define = (name, value) =>
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

define('global', globalThis);

// Text encodings

const ENCODINGS = { 'utf-8': 'utf8', 'ucs2': 'utf16le', 'ucs-2': 'utf16le', 'utf-16le': 'utf16le', 'binary': 'latin1' };
const encodingName = (name) => {
  const lower = String(name ?? 'utf8').toLowerCase();
  return ENCODINGS[lower] ?? lower;
};
const encode = (text, name) => {
  const encoding = encodingName(name);
  if (encoding === 'base64url') return native.encode(text, 'base64');
  return native.encode(text, encoding === 'ascii' ? 'latin1' : encoding);
};

class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return native.encode(String(text), 'utf8'); }
}
class TextDecoder {
  constructor(name = 'utf-8') { this.encoding = name; }
  decode(bytes) {
    if (bytes === undefined) return '';
    return native.decode(bytesOf(bytes), encodingName(this.encoding));
  }
}
define('TextEncoder', TextEncoder);
define('TextDecoder', TextDecoder);

const bytesOf = (value, encoding) => {
  if (typeof value === 'string') return encode(value, encoding);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  // Native code takes exactly Uint8Array.
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw typeError('ERR_INVALID_ARG_TYPE', `expected text or bytes, not ${value === null ? 'null' : typeof value}`);
};
const typeError = (code, message) => Object.assign(new TypeError(message), { code });

class Buffer extends Uint8Array {
  static from(value, encodingOrOffset, length) {
    if (typeof value === 'string') return Buffer.#own(encode(value, encodingOrOffset));
    if (value instanceof ArrayBuffer) return new Buffer(value, encodingOrOffset ?? 0, length ?? value.byteLength - (encodingOrOffset ?? 0));
    if (value?.type === 'Buffer' && Array.isArray(value.data)) value = value.data;
    if (value === null || value === undefined || typeof value === 'number') {
      throw typeError('ERR_INVALID_ARG_TYPE', 'The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array.');
    }
    const copy = new Buffer(value.length);
    copy.set(value);
    return copy;
  }
  static #own(bytes) { return new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength); }
  static alloc(size, fill, encoding) {
    const buffer = new Buffer(size);
    return fill === undefined ? buffer : buffer.fill(fill, 0, size, encoding);
  }
  static allocUnsafe(size) { return new Buffer(size); }
  static isBuffer(value) { return value instanceof Buffer; }
  static isEncoding(name) { return ['utf8', 'hex', 'base64', 'base64url', 'latin1', 'ascii', 'utf16le'].includes(encodingName(name)); }
  static byteLength(value, encoding) { return bytesOf(value, encoding).length; }
  static concat(list, total = list.reduce((sum, part) => sum + part.length, 0)) {
    const whole = Buffer.alloc(total);
    let at = 0;
    for (const part of list) {
      whole.set(part.subarray(0, Math.max(0, total - at)), at);
      at += part.length;
      if (at >= total) break;
    }
    return whole;
  }
  static compare(a, b) {
    const length = Math.min(a.length, b.length);
    for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return Math.sign(a.length - b.length);
  }
  toString(encoding, start = 0, end = this.length) {
    return native.decode(bytesOf(this.subarray(start, end)), encodingName(encoding));
  }
  toLocaleString(encoding) { return this.toString(encoding); }
  toJSON() { return { type: 'Buffer', data: Array.from(this) }; }
  equals(other) { return Buffer.compare(this, other) === 0; }
  compare(other) { return Buffer.compare(this, other); }
  slice(start, end) { return this.subarray(start, end); }
  copy(target, targetStart = 0, start = 0, end = this.length) {
    const part = this.subarray(start, Math.min(end, start + target.length - targetStart));
    target.set(part, targetStart);
    return part.length;
  }
  write(text, offset = 0, length = this.length - offset, encoding = 'utf8') {
    if (typeof offset === 'string') [offset, length, encoding] = [0, this.length, offset];
    const bytes = encode(text, encoding).subarray(0, Math.min(length, this.length - offset));
    this.set(bytes, offset);
    return bytes.length;
  }
  fill(value, start = 0, end = this.length, encoding) {
    if (typeof value === 'number') return super.fill(value, start, end);
    const bytes = bytesOf(value, encoding);
    for (let i = start; i < end && bytes.length > 0; i++) this[i] = bytes[(i - start) % bytes.length];
    return this;
  }
  indexOf(value, from = 0, encoding) {
    if (typeof value === 'number') return super.indexOf(value, from);
    const wanted = bytesOf(value, encoding);
    for (let i = from; i <= this.length - wanted.length; i++) {
      if (wanted.every((byte, k) => this[i + k] === byte)) return i;
    }
    return -1;
  }
  includes(value, from, encoding) { return this.indexOf(value, from, encoding) !== -1; }
}
const view = (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
const NUMBERS = [
  ['UInt8', 'Uint8', 1], ['Int8', 'Int8', 1], ['UInt16', 'Uint16', 2], ['Int16', 'Int16', 2],
  ['UInt32', 'Uint32', 4], ['Int32', 'Int32', 4], ['Float', 'Float32', 4], ['Double', 'Float64', 8],
  ['BigUInt64', 'BigUint64', 8], ['BigInt64', 'BigInt64', 8],
];
for (const [name, type, size] of NUMBERS) {
  for (const [order, little] of size === 1 ? [['', false]] : [['LE', true], ['BE', false]]) {
    Buffer.prototype[`read${name}${order}`] = function (offset = 0) { return view(this)[`get${type}`](offset, little); };
    Buffer.prototype[`write${name}${order}`] = function (value, offset = 0) {
      view(this)[`set${type}`](offset, value, little);
      return offset + size;
    };
  }
}
define('Buffer', Buffer);
define('atob', (text) => native.decode(native.encode(String(text), 'base64'), 'latin1'));
define('btoa', (text) => native.decode(native.encode(String(text), 'latin1'), 'base64'));

// Addresses

// The classes are in `url_classes.js`, whose source precedes this.
define('URLSearchParams', URLSearchParams);
define('URL', URL);

// Timers

class Timeout {
  constructor(id) { this.id = id; }
  ref() { return this; }
  unref() { return this; }
  hasRef() { return true; }
  [Symbol.toPrimitive]() { return this.id; }
}
const start = (repeats) => (run, delay, ...rest) => {
  if (typeof run !== 'function') throw typeError('ERR_INVALID_ARG_TYPE', 'The "callback" argument must be of type function.');
  return new Timeout(native.startTimer(run, Number(delay), repeats, rest));
};
const clear = (timer) => {
  const id = timer instanceof Timeout ? timer.id : Number(timer);
  if (id > 0) native.clearTimer(id);
};
define('setTimeout', start(false));
define('setInterval', start(true));
define('setImmediate', (run, ...rest) => setTimeout(run, 0, ...rest));
define('clearTimeout', clear);
define('clearInterval', clear);
define('clearImmediate', clear);
define('queueMicrotask', (run) => { Promise.resolve().then(run); });

// Copies

const copyOf = (value, seen) => {
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw Object.assign(new Error(`${String(value)} could not be cloned.`), { name: 'DataCloneError' });
  }
  if (typeof value !== 'object' || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const keep = (copy) => { seen.set(value, copy); return copy; };
  if (value instanceof Date) return keep(new Date(value));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) return keep(new Uint8Array(value));
  if (value instanceof Error) return keep(Object.assign(new value.constructor(value.message), { stack: value.stack }));
  if (value instanceof Map) {
    const copy = keep(new Map());
    for (const [key, item] of value) copy.set(copyOf(key, seen), copyOf(item, seen));
    return copy;
  }
  if (value instanceof Set) {
    const copy = keep(new Set());
    for (const item of value) copy.add(copyOf(item, seen));
    return copy;
  }
  const copy = keep(Array.isArray(value) ? [] : {});
  for (const key of Object.keys(value)) copy[key] = copyOf(value[key], seen);
  return copy;
};
define('structuredClone', (value) => copyOf(value, new Map()));

// Text for people

const inspect = (value, options = {}) => shown(value, { depth: options.depth ?? 2, seen: [] }, 0);
const isPlainKey = (key) => /^[A-Za-z_$][\w$]*$/.test(key);
const quoted = (text) => {
  const quote = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes('`') ? '`' : "'";
  const escaped = text.replace(/[\\\n\r\t]/g, (c) => ({ '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' })[c]);
  return quote + escaped.replaceAll(quote, '\\' + quote) + quote;
};
const shown = (value, options, level) => {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'symbol') return value.toString();
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'function') {
    const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? 'class' : value.constructor.name;
    return value.name ? `[${kind}${kind === 'class' ? ' ' : ': '}${value.name}]` : `[${kind} (anonymous)]`;
  }
  if (typeof value !== 'object' || value === null) return String(value);
  if (options.seen.includes(value)) return '[Circular *1]';
  if (value instanceof Error) return errorText(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof URL) return `URL ${quoted(value.href)}`;
  if (value instanceof Promise) return 'Promise { <pending> }';
  const name = value.constructor?.name;
  if (options.depth !== null && level > options.depth) return Array.isArray(value) ? '[Array]' : `[${name ?? 'Object'}]`;
  const inner = { ...options, seen: [...options.seen, value] };
  const item = (part) => shown(part, inner, level + 1);
  if (value instanceof Buffer) {
    const bytes = Array.from(value.subarray(0, 50), (byte) => byte.toString(16).padStart(2, '0'));
    return `<Buffer${bytes.length ? ' ' : ''}${bytes.join(' ')}${value.length > 50 ? ` ... ${value.length - 50} more bytes` : ''}>`;
  }
  const entries = (list) => Object.keys(list).map((key) => `${isPlainKey(key) ? key : quoted(key)}: ${item(list[key])}`);
  let [open, parts, close] = ['{', entries(value), '}'];
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    const list = Array.from(value);
    const extra = list.length > 100 ? [`... ${list.length - 100} more item${list.length > 101 ? 's' : ''}`] : [];
    open = Array.isArray(value) ? '[' : `${name}(${value.length}) [`;
    parts = [...list.slice(0, 100).map(item), ...extra];
    close = ']';
  } else if (value instanceof Map) {
    open = `Map(${value.size}) {`;
    parts = Array.from(value, ([key, part]) => `${item(key)} => ${item(part)}`);
  } else if (value instanceof Set) {
    open = `Set(${value.size}) {`;
    parts = Array.from(value, item);
  } else if (name === undefined || Object.getPrototypeOf(value) === null) {
    open = '[Object: null prototype] {';
  } else if (name !== 'Object') {
    open = `${name} {`;
  }
  return block(open, parts, close, level);
};
const block = (open, parts, close, level) => {
  if (parts.length === 0) return open + close;
  const line = `${open} ${parts.join(', ')} ${close}`;
  if (line.length + level * 2 <= 76 && !line.includes('\n')) return line;
  const indent = '  '.repeat(level + 1);
  return `${open}\n${parts.map((part) => indent + part).join(',\n')}\n${'  '.repeat(level)}${close}`;
};
const errorText = (error) => {
  const head = `${error.name}: ${error.message}`;
  const stack = typeof error.stack === 'string' ? error.stack.trimEnd() : '';
  return stack === '' ? `[${head}]` : `${head}\n${stack}`;
};

const format = (...values) => {
  const [first, ...rest] = values;
  if (typeof first !== 'string') return values.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' ');
  let at = 0;
  const filled = first.replace(/%[sdifjoOc%]/g, (mark) => {
    if (mark === '%%') return '%';
    if (at >= rest.length) return mark;
    const value = rest[at++];
    switch (mark) {
      case '%s': return typeof value === 'object' && value !== null ? inspect(value, { depth: 0 }) : String(value);
      case '%d': return typeof value === 'object' ? 'NaN' : String(Number(value));
      case '%i': return String(Number.parseInt(value, 10));
      case '%f': return String(Number.parseFloat(value));
      case '%j': return JSON.stringify(value);
      case '%c': return '';
      default: return inspect(value, { depth: 4 });
    }
  });
  return [filled, ...rest.slice(at).map((value) => (typeof value === 'string' ? value : inspect(value)))].join(' ');
};
native.inspect = inspect;
native.format = format;
native.bytesOf = bytesOf;
native.typeError = typeError;

// Output

const counts = new Map();
const times = new Map();
let groups = '';
const printer = (isError) => (...values) => native.print(groups + format(...values).replaceAll('\n', '\n' + groups), isError);
const print = printer(false);
const warn = printer(true);
const console = {
  log: print,
  info: print,
  debug: print,
  warn,
  error: warn,
  trace: (...values) => warn('Trace:', ...values),
  dir: (value, options) => print(inspect(value, options)),
  table: (value) => print(value),
  assert: (holds, ...values) => { if (!holds) warn('Assertion failed' + (values.length ? ':' : ''), ...values); },
  count: (label = 'default') => {
    counts.set(label, (counts.get(label) ?? 0) + 1);
    print(`${label}: ${counts.get(label)}`);
  },
  countReset: (label = 'default') => counts.delete(label),
  time: (label = 'default') => times.set(label, native.now()),
  timeLog: (label = 'default', ...values) => print(`${label}: ${(native.now() - times.get(label)).toFixed(3)}ms`, ...values),
  timeEnd: (label = 'default') => { console.timeLog(label); times.delete(label); },
  group: (...values) => { if (values.length) print(...values); groups += '  '; },
  groupEnd: () => { groups = groups.slice(2); },
};
define('console', console);

// The process

const began = native.now();
const hrtime = (previous) => {
  const ns = BigInt(Math.round(native.now() * 1e6));
  const [s, rest] = [Number(ns / 1000000000n), Number(ns % 1000000000n)];
  if (!previous) return [s, rest];
  const borrow = rest < previous[1] ? 1 : 0;
  return [s - previous[0] - borrow, rest - previous[1] + borrow * 1e9];
};
hrtime.bigint = () => BigInt(Math.round(native.now() * 1e6));
const unavailable = (name) => () => {
  throw Object.assign(new Error(`${name} is not available to scripts`), { code: 'ERR_FEATURE_UNAVAILABLE' });
};
const output = (isError) => ({ write: (text) => { native.print(String(text).replace(/\n$/, ''), isError); return true; }, isTTY: false });
define('process', {
  env: native.environment,
  argv: ['node', 'loadline'],
  execArgv: [],
  platform: 'linux',
  arch: native.arch,
  pid: native.pid,
  version: 'v22.18.0',
  versions: { node: '22.18.0' },
  release: { name: 'node' },
  cwd: () => native.folder,
  uptime: () => (native.now() - began) / 1000,
  hrtime,
  nextTick: (run, ...rest) => { Promise.resolve().then(() => run(...rest)); },
  memoryUsage: unavailable('process.memoryUsage'),
  on: () => process,
  once: () => process,
  off: () => process,
  emit: () => false,
  emitWarning: (warning) => warn(String(warning)),
  exit: unavailable('process.exit'),
  abort: unavailable('process.abort'),
  chdir: unavailable('process.chdir'),
  stdout: output(false),
  stderr: output(true),
});
define('performance', {
  now: () => native.now() - began,
  timeOrigin: Date.now(),
  mark: () => {},
  measure: () => {},
});

// Functions that scripts may call like templates do

const $randomNumber = (first = 1, second = 0) => {
  const [min, max] = first < second ? [first, second] : [second, first];
  return min + Math.floor(Math.random() * (max - min + 1));
};
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const $randomString = (length = 10) =>
  Array.from({ length }, () => LETTERS[Math.floor(Math.random() * LETTERS.length)]).join('');

// Objects with parts that are made when they are first read

const setOwn = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: true });
const once = (object, name, read) => Object.defineProperty(object, name, {
  get() { const value = read(name); setOwn(this, name, value); return value; },
  set(value) { read(name); setOwn(this, name, value); },
  configurable: true,
  enumerable: true,
});
// The parts of a class are read through its prototype, which is cheaper than properties that are
// made for each object.
const lazily = (type, names) => {
  for (const name of names) {
    Object.defineProperty(type.prototype, name, {
      get() { const value = this._part(name); if (value !== undefined) setOwn(this, name, value); return value; },
      set(value) { setOwn(this, name, value); },
      configurable: true,
    });
  }
  type.prototype.toJSON = function () {
    const copy = { ...this };
    for (const name of names) if (this[name] !== undefined) copy[name] = this[name];
    return copy;
  };
};
class Response {
  #read;
  constructor(read, statusCode) { this.#read = read; this.statusCode = statusCode; }
  _part(name) { return this.#read(true, name); }
}
class SentRequest {
  #read;
  constructor(read) { this.#read = read; }
  _part(name) { return this.#read(false, name); }
}
lazily(Response, ['url', 'headers', 'body', 'timings']);
lazily(SentRequest, ['url', 'method', 'headers', 'json', 'body']);
native.makers = {
  response: (statusCode, read) => new Response(read, statusCode),
  sent: (read, name, kept, known) => {
    const request = new SentRequest(read);
    if (name !== undefined) request.name = name;
    // What functions added before the request was sent.
    for (const key in kept) if (!(key in known)) request[key] = kept[key];
    return request;
  },
  context: (vars, name, uuid) => ({
    vars,
    funcs: { $randomNumber, $randomString, $template: (value) => native.template(value, vars) },
    scenario: { name },
    _uid: uuid,
  }),
  once,
};

// Metrics

class Metrics {
  #listeners = new Map();
  emit(name, ...values) {
    switch (name) {
      case 'counter': native.emit('counter', String(values[0]), Number(values[1] ?? 1)); break;
      case 'histogram':
      case 'summary': native.emit('histogram', String(values[0]), Number(values[1])); break;
      case 'rate': native.emit('rate', String(values[0]), 1); break;
      case 'error': native.emit('error', String(values[0]?.code ?? values[0]?.message ?? values[0]), 1); break;
      case 'customStat': native.emit('histogram', String(values[0]?.stat), Number(values[0]?.value)); break;
    }
    for (const listener of this.#listeners.get(name) ?? []) listener(...values);
    return true;
  }
  on(name, listener) {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]);
    return this;
  }
  once(name, listener) {
    const once = (...values) => { this.off(name, once); listener(...values); };
    return this.on(name, once);
  }
  off(name, listener) {
    this.#listeners.set(name, (this.#listeners.get(name) ?? []).filter((known) => known !== listener));
    return this;
  }
}
Metrics.prototype.addListener = Metrics.prototype.on;
Metrics.prototype.removeListener = Metrics.prototype.off;
native.events = new Metrics();

define('artillery', {
  testRunId: native.testId,
  version: native.version,
  log: print,
  stash: {},
  plugins: [],
  globalEvents: native.events,
  util: { template: (value, context) => native.template(value, context.vars) },
});
