'use strict';

// A function, not a class, because older packages inherit from it with `util.inherits` and call it
// without `new`, or not at all.
function EventEmitter() {}

const listeners = new WeakMap();
const allOf = (emitter) => {
  let all = listeners.get(emitter);
  if (all === undefined) listeners.set(emitter, (all = new Map()));
  return all;
};
const listOf = (emitter, name) => listeners.get(emitter)?.get(name) ?? [];
const add = (emitter, name, listener, first) => {
  const list = listOf(emitter, name);
  allOf(emitter).set(name, first ? [listener, ...list] : [...list, listener]);
  return emitter;
};
const onceOnly = (emitter, name, listener) => {
  const once = (...values) => { emitter.off(name, once); return listener.apply(emitter, values); };
  once.listener = listener;
  return once;
};

Object.assign(EventEmitter.prototype, {
  on(name, listener) { return add(this, name, listener, false); },
  addListener(name, listener) { return this.on(name, listener); },
  prependListener(name, listener) { return add(this, name, listener, true); },
  once(name, listener) { return this.on(name, onceOnly(this, name, listener)); },
  prependOnceListener(name, listener) { return add(this, name, onceOnly(this, name, listener), true); },
  off(name, listener) {
    allOf(this).set(name, listOf(this, name).filter((known) => known !== listener && known.listener !== listener));
    return this;
  },
  removeListener(name, listener) { return this.off(name, listener); },
  removeAllListeners(name) {
    if (name === undefined) allOf(this).clear();
    else allOf(this).delete(name);
    return this;
  },
  emit(name, ...values) {
    const list = listOf(this, name);
    if (list.length === 0 && name === 'error') throw values[0] instanceof Error ? values[0] : new Error(`Unhandled error. (${values[0]})`);
    for (const listener of list) listener.apply(this, values);
    return list.length > 0;
  },
  listeners(name) { return listOf(this, name).map((listener) => listener.listener ?? listener); },
  listenerCount(name) { return listOf(this, name).length; },
  eventNames() { return [...allOf(this).keys()].filter((name) => listOf(this, name).length > 0); },
  setMaxListeners() { return this; },
  getMaxListeners() { return Infinity; },
});
EventEmitter.EventEmitter = EventEmitter;
EventEmitter.defaultMaxListeners = 10;
EventEmitter.once = (emitter, name) => new Promise((resolve, reject) => {
  emitter.once(name, (...values) => resolve(values));
  if (name !== 'error') emitter.once('error', reject);
});
module.exports = EventEmitter;
