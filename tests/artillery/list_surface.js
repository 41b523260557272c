// Lists what a script sees of Node.js, as the table of the reference.
const modules = [
  'assert', 'buffer', 'crypto', 'events', 'fs', 'fs/promises', 'http', 'https', 'os', 'path', 'perf_hooks', 'process', 'querystring',
  'stream', 'stream/promises', 'string_decoder', 'timers', 'timers/promises', 'url', 'util',
];
// Globals of the language itself.
const language = new Set([
  'Infinity', 'NaN', 'undefined', 'globalThis', 'escape', 'unescape', 'eval', 'parseInt', 'parseFloat', 'isNaN', 'isFinite', 'decodeURI',
  'decodeURIComponent', 'encodeURI', 'encodeURIComponent', 'AggregateError', 'AsyncDisposableStack', 'Array', 'ArrayBuffer', 'Atomics', 'BigInt',
  'BigInt64Array', 'BigUint64Array', 'Boolean', 'DOMException', 'DataView', 'Date', 'DisposableStack', 'Error', 'EvalError', 'FinalizationRegistry',
  'Float16Array', 'Float32Array', 'Float64Array', 'Function', 'Int16Array', 'Int32Array', 'Int8Array', 'InternalError', 'Iterator', 'JSON', 'Map',
  'Math', 'Number', 'Object', 'Promise', 'Proxy', 'RangeError', 'ReferenceError', 'Reflect', 'RegExp', 'Set', 'SharedArrayBuffer', 'String',
  'SuppressedError', 'Symbol', 'SyntaxError', 'TypeError', 'URIError', 'Uint16Array', 'Uint32Array', 'Uint8Array', 'Uint8ClampedArray', 'WeakMap',
  'WeakRef', 'WeakSet',
]);
const quoted = (names) => names.sort().map((name) => '`' + name + '`').join(', ');

exports.f = (context, events, done) => {
  const rows = modules.map((name) => `| \`${name}\` | ${quoted(Object.keys(require(name)).filter((member) => !member.startsWith('_')))} |`);
  const globals = Object.getOwnPropertyNames(globalThis).filter((name) => !language.has(name) && !name.startsWith('loadline:'));
  console.log('TABLE' + JSON.stringify(['| module | members |', '|---|---|', ...rows, '', `Globals: ${quoted(globals)}`]));
  done();
};
