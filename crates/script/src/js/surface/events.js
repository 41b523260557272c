'use strict';

class EventEmitter {
  #all = new Map();
  #list(name) { return this.#all.get(name) ?? []; }
  #add(name, listener, first) {
    const list = this.#list(name);
    this.#all.set(name, first ? [listener, ...list] : [...list, listener]);
    return this;
  }
  #once(name, listener) {
    const once = (...values) => { this.off(name, once); return listener.apply(this, values); };
    once.listener = listener;
    return once;
  }
  on(name, listener) { return this.#add(name, listener, false); }
  addListener(name, listener) { return this.on(name, listener); }
  prependListener(name, listener) { return this.#add(name, listener, true); }
  once(name, listener) { return this.on(name, this.#once(name, listener)); }
  prependOnceListener(name, listener) { return this.#add(name, this.#once(name, listener), true); }
  off(name, listener) {
    this.#all.set(name, this.#list(name).filter((known) => known !== listener && known.listener !== listener));
    return this;
  }
  removeListener(name, listener) { return this.off(name, listener); }
  removeAllListeners(name) {
    if (name === undefined) this.#all.clear();
    else this.#all.delete(name);
    return this;
  }
  emit(name, ...values) {
    const list = this.#list(name);
    if (list.length === 0 && name === 'error') throw values[0] instanceof Error ? values[0] : new Error(`Unhandled error. (${values[0]})`);
    for (const listener of list) listener.apply(this, values);
    return list.length > 0;
  }
  listeners(name) { return this.#list(name).map((listener) => listener.listener ?? listener); }
  listenerCount(name) { return this.#list(name).length; }
  eventNames() { return [...this.#all.keys()].filter((name) => this.#list(name).length > 0); }
  setMaxListeners() { return this; }
  getMaxListeners() { return Infinity; }
}
EventEmitter.EventEmitter = EventEmitter;
EventEmitter.defaultMaxListeners = 10;
EventEmitter.once = (emitter, name) => new Promise((resolve, reject) => {
  emitter.once(name, (...values) => resolve(values));
  if (name !== 'error') emitter.once('error', reject);
});
module.exports = EventEmitter;
