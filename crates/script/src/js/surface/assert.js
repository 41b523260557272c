'use strict';

class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) {
    super(message);
    Object.assign(this, { name: 'AssertionError', code: 'ERR_ASSERTION', actual, expected, operator });
  }
}
const fail = (message, actual, expected, operator, otherwise) => {
  if (message instanceof Error) throw message;
  throw new AssertionError({ message: message ?? otherwise, actual, expected, operator });
};
const text = (value) => native.inspect(value);

const same = (a, b, strict) => {
  if (strict ? Object.is(a, b) : a == b || (a !== a && b !== b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof RegExp && b instanceof RegExp) return String(a) === String(b);
  if (a instanceof Map && b instanceof Map) return same([...a], [...b], strict);
  if (a instanceof Set && b instanceof Set) return same([...a], [...b], strict);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [mine, theirs] = [Object.keys(a), Object.keys(b)];
  return mine.length === theirs.length && mine.every((key) => Object.hasOwn(b, key) && same(a[key], b[key], strict));
};

const assert = (value, message) => {
  if (!value) fail(message, value, true, '==', 'The expression evaluated to a falsy value');
};
assert.ok = assert;
assert.AssertionError = AssertionError;
assert.fail = (message = 'Failed') => fail(message, undefined, undefined, 'fail');
assert.equal = (a, b, message) => { if (!(a == b)) fail(message, a, b, '==', `${text(a)} == ${text(b)}`); };
assert.notEqual = (a, b, message) => { if (a == b) fail(message, a, b, '!=', `${text(a)} != ${text(b)}`); };
assert.strictEqual = (a, b, message) => {
  if (!Object.is(a, b)) fail(message, a, b, 'strictEqual', `Expected values to be strictly equal:\n\n${text(a)} !== ${text(b)}\n`);
};
assert.notStrictEqual = (a, b, message) => {
  if (Object.is(a, b)) fail(message, a, b, 'notStrictEqual', `Expected "actual" to be strictly unequal to: ${text(b)}`);
};
assert.deepEqual = (a, b, message) => { if (!same(a, b, false)) fail(message, a, b, 'deepEqual', `${text(a)} deepEqual ${text(b)}`); };
assert.deepStrictEqual = (a, b, message) => {
  if (!same(a, b, true)) fail(message, a, b, 'deepStrictEqual', `Expected values to be strictly deep-equal: ${text(a)} and ${text(b)}`);
};
assert.notDeepStrictEqual = (a, b, message) => {
  if (same(a, b, true)) fail(message, a, b, 'notDeepStrictEqual', 'Expected "actual" not to be strictly deep-equal to "expected"');
};
assert.match = (value, pattern, message) => {
  if (!pattern.test(value)) fail(message, value, pattern, 'match', `The input did not match the regular expression ${pattern}. Input: ${text(value)}`);
};
const fits = (error, expected) => {
  if (expected === undefined) return true;
  if (expected instanceof RegExp) return expected.test(String(error));
  if (typeof expected === 'function') return expected.prototype !== undefined && error instanceof expected || expected(error) === true;
  return Object.keys(expected).every((key) => (expected[key] instanceof RegExp ? expected[key].test(error[key]) : same(error[key], expected[key], true)));
};
assert.throws = (run, expected, message) => {
  try {
    run();
  } catch (error) {
    if (!fits(error, expected)) throw error;
    return;
  }
  fail(message, undefined, expected, 'throws', 'Missing expected exception.');
};
assert.doesNotThrow = (run) => { run(); };
assert.rejects = async (run, expected, message) => {
  try {
    await (typeof run === 'function' ? run() : run);
  } catch (error) {
    if (!fits(error, expected)) throw error;
    return;
  }
  fail(message, undefined, expected, 'rejects', 'Missing expected rejection.');
};
assert.strict = Object.assign((...values) => assert(...values), assert, {
  equal: assert.strictEqual,
  deepEqual: assert.deepStrictEqual,
  notEqual: assert.notStrictEqual,
});
module.exports = assert;
