'use strict';

const util = {
  format: native.format,
  inspect: native.inspect,
  promisify: (run) => (...values) => new Promise((resolve, reject) => {
    run(...values, (error, value) => (error ? reject(error) : resolve(value)));
  }),
  callbackify: (run) => (...values) => {
    const done = values.pop();
    run(...values).then((value) => done(null, value), (error) => done(error));
  },
  inherits(child, parent) {
    child.super_ = parent;
    Object.setPrototypeOf(child.prototype, parent.prototype);
  },
  deprecate: (run) => run,
  isDeepStrictEqual: (a, b) => {
    try {
      require('assert').deepStrictEqual(a, b);
      return true;
    } catch {
      return false;
    }
  },
  debuglog: () => () => {},
  isArray: Array.isArray,
  TextEncoder,
  TextDecoder,
  types: {
    isDate: (value) => value instanceof Date,
    isRegExp: (value) => value instanceof RegExp,
    isPromise: (value) => value instanceof Promise,
    isNativeError: (value) => value instanceof Error,
    isMap: (value) => value instanceof Map,
    isSet: (value) => value instanceof Set,
    isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
    isUint8Array: (value) => value instanceof Uint8Array,
    isArrayBuffer: (value) => value instanceof ArrayBuffer,
    isAsyncFunction: (value) => value?.constructor?.name === 'AsyncFunction',
  },
};
native.inspect.custom = Symbol.for('nodejs.util.inspect.custom');
util.promisify.custom = Symbol.for('nodejs.util.promisify.custom');
module.exports = util;
