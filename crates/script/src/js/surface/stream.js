'use strict';

const EventEmitter = require('events');
const { StringDecoder } = require('string_decoder');

const coded = (code, message) => Object.assign(new Error(message), { code });
const limit = (options, side, objectMode) =>
  options[`${side}HighWaterMark`] ?? options.highWaterMark ?? (objectMode ? 16 : 65536);
const isObjectMode = (options, side) => Boolean(options.objectMode || options[`${side}ObjectMode`]);

// The base of all streams. Older packages inherit from it and only emit `data` and `end`.
function Stream() {}
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Stream, EventEmitter);
Stream.prototype.pipe = function (target, options) {
  const source = this;
  source.on('data', (chunk) => {
    if (target.writable !== false && target.write(chunk) === false) source.pause?.();
  });
  target.on('drain', () => source.resume?.());
  if (options?.end !== false) source.on('end', () => target.end());
  target.emit('pipe', source);
  return target;
};

// Ending and destroying, for both sides of a stream.
const destroyable = {
  destroy(error, done) {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.errored = error ?? null;
    this._destroy(error ?? null, (failed) => {
      process.nextTick(() => {
        if (failed) this.emit('error', failed);
        this.closed = true;
        this.emit('close');
      });
      done?.(failed);
    });
    return this;
  },
  _destroy(error, done) { done(error); },
};
const setUp = (stream, options) => {
  stream.destroyed = false;
  stream.closed = false;
  stream.errored = null;
  for (const name of ['read', 'write', 'writev', 'final', 'destroy', 'transform', 'flush']) {
    if (typeof options[name] === 'function') stream[`_${name}`] = options[name];
  }
};
const closeWhenDone = (stream) => {
  const read = stream._readableState?.endEmitted ?? true;
  const written = stream._writableState?.finished ?? true;
  const closes = (stream._readableState ?? stream._writableState).autoDestroy;
  if (read && written && closes) stream.destroy();
};

// Reading

function Readable(options) {
  if (!(this instanceof Readable)) return new Readable(options);
  setUp(this, options ?? {});
  initReadable(this, options ?? {});
}
Object.setPrototypeOf(Readable.prototype, Stream.prototype);
Object.setPrototypeOf(Readable, Stream);

const initReadable = (stream, options) => {
  const objectMode = isObjectMode(options, 'readable');
  stream._readableState = {
    objectMode,
    highWaterMark: limit(options, 'readable', objectMode),
    autoDestroy: options.autoDestroy !== false,
    encoding: options.encoding ?? null,
    decoder: options.encoding ? new StringDecoder(options.encoding) : null,
    buffer: [],
    length: 0,
    flowing: null,
    pipes: [],
    reading: false,
    isInRead: false,
    ended: false,
    endEmitted: false,
    isScheduled: false,
  };
  stream.readable = true;
};
const sizeOf = (state, chunk) => (state.objectMode ? 1 : chunk.length);
const fill = (stream) => {
  const state = stream._readableState;
  if (state.reading || state.ended || stream.destroyed) return;
  if (state.length > 0 && state.length >= state.highWaterMark) return;
  state.reading = true;
  state.isInRead = true;
  try {
    stream._read(state.highWaterMark);
  } catch (error) {
    stream.destroy(error);
  }
  state.isInRead = false;
};
const schedule = (stream) => {
  const state = stream._readableState;
  if (state.isScheduled) return;
  state.isScheduled = true;
  process.nextTick(() => {
    state.isScheduled = false;
    if (stream.destroyed || state.endEmitted) return;
    if (stream.listenerCount('readable') > 0) {
      if (state.length > 0 || state.ended) stream.emit('readable');
      else fill(stream);
    } else if (state.flowing) {
      while (state.flowing && stream.read() !== null);
    } else if (state.flowing === null && !state.ended) {
      fill(stream);
    }
  });
};
const emitEnd = (stream) => {
  const state = stream._readableState;
  if (state.endEmitted) return;
  state.endEmitted = true;
  process.nextTick(() => {
    stream.readable = false;
    stream.emit('end');
    if (stream._writableState && stream.allowHalfOpen === false) stream.end();
    closeWhenDone(stream);
  });
};
const addChunk = (stream, chunk, encoding, first) => {
  const state = stream._readableState;
  state.reading = false;
  if (chunk === null) {
    if (!state.ended) {
      state.ended = true;
      const rest = state.decoder?.end();
      if (rest) { state.buffer.push(rest); state.length += rest.length; }
      schedule(stream);
    }
    return false;
  }
  if (state.ended && !first) {
    stream.destroy(coded('ERR_STREAM_PUSH_AFTER_EOF', 'stream.push() after EOF'));
    return false;
  }
  if (!state.objectMode) {
    if (typeof chunk === 'string') chunk = Buffer.from(chunk, encoding);
    else if (!(chunk instanceof Uint8Array)) {
      const message = 'The "chunk" argument must be of type string or an instance of Buffer or Uint8Array.';
      stream.destroy(native.typeError('ERR_INVALID_ARG_TYPE', message));
      return false;
    }
    if (state.decoder) chunk = state.decoder.write(chunk);
    if (chunk.length === 0) {
      schedule(stream);
      return state.length < state.highWaterMark;
    }
  }
  if (state.flowing && state.length === 0 && !state.isInRead && stream.listenerCount('data') > 0) {
    schedule(stream);
    stream.emit('data', chunk);
    return true;
  }
  if (first) state.buffer.unshift(chunk);
  else state.buffer.push(chunk);
  state.length += sizeOf(state, chunk);
  schedule(stream);
  return state.length < state.highWaterMark;
};
const take = (state, size) => {
  if (state.objectMode) return state.buffer.shift();
  const isText = typeof state.buffer[0] === 'string';
  const whole = state.buffer.length === 1 ? state.buffer[0] : isText ? state.buffer.join('') : Buffer.concat(state.buffer);
  if (size === undefined || size >= whole.length) {
    state.buffer = [];
    return whole;
  }
  state.buffer = [whole.slice(size)];
  return whole.slice(0, size);
};

Object.assign(Readable.prototype, destroyable, {
  _read() { throw coded('ERR_METHOD_NOT_IMPLEMENTED', 'The _read() method is not implemented'); },
  push(chunk, encoding) { return addChunk(this, chunk, encoding, false); },
  unshift(chunk, encoding) { return addChunk(this, chunk, encoding, true); },
  read(size) {
    const state = this._readableState;
    if (state.length === 0 || (size > state.length && !state.ended && !state.objectMode)) fill(this);
    if (state.length === 0) {
      if (state.ended) emitEnd(this);
      return null;
    }
    if (size > state.length && !state.ended && !state.objectMode) return null;
    const chunk = take(state, size);
    state.length -= sizeOf(state, chunk);
    fill(this);
    if (state.ended) schedule(this);
    this.emit('data', chunk);
    return chunk;
  },
  on(name, listener) {
    Stream.prototype.on.call(this, name, listener);
    const state = this._readableState;
    if (name === 'data' && state.flowing !== false) this.resume();
    if (name === 'readable') { state.flowing = false; schedule(this); }
    return this;
  },
  resume() { this._readableState.flowing = true; schedule(this); return this; },
  pause() { this._readableState.flowing = false; return this; },
  isPaused() { return this._readableState.flowing === false; },
  setEncoding(encoding) {
    const state = this._readableState;
    state.encoding = encoding;
    state.decoder = new StringDecoder(encoding);
    state.buffer = state.buffer.map((chunk) => state.decoder.write(chunk)).filter((text) => text !== '');
    state.length = state.buffer.reduce((sum, text) => sum + text.length, 0);
    return this;
  },
  pipe(target, options) {
    const onData = (chunk) => { if (target.write(chunk) === false) this.pause(); };
    const onDrain = () => this.resume();
    const onEnd = () => target.end();
    const ends = options?.end !== false && target !== process.stdout && target !== process.stderr;
    target.on?.('drain', onDrain);
    if (ends) this.once('end', onEnd);
    this._readableState.pipes.push({ target, undo: () => {
      this.off('data', onData);
      this.off('end', onEnd);
      target.off?.('drain', onDrain);
      target.emit?.('unpipe', this);
    } });
    target.emit?.('pipe', this);
    this.on('data', onData);
    return target;
  },
  unpipe(target) {
    const { pipes } = this._readableState;
    const [gone, kept] = [[], []];
    for (const pipe of pipes) (target === undefined || pipe.target === target ? gone : kept).push(pipe);
    this._readableState.pipes = kept;
    gone.forEach((pipe) => pipe.undo());
    if (kept.length === 0) this.pause();
    return this;
  },
  async *[Symbol.asyncIterator]() {
    let [wake, error, isDone] = [() => {}, null, false];
    this.on('readable', () => wake());
    finished(this, (failed) => { error = failed ?? null; isDone = true; wake(); });
    try {
      for (;;) {
        const chunk = this.destroyed ? null : this.read();
        if (chunk !== null) yield chunk;
        else if (error) throw error;
        else if (isDone) return;
        else await new Promise((resolve) => { wake = resolve; });
      }
    } finally {
      this.destroy();
    }
  },
});
Object.defineProperties(Readable.prototype, {
  readableFlowing: { get() { return this._readableState.flowing; } },
  readableEnded: { get() { return this._readableState.endEmitted; } },
  readableLength: { get() { return this._readableState.length; } },
  readableObjectMode: { get() { return this._readableState.objectMode; } },
  readableHighWaterMark: { get() { return this._readableState.highWaterMark; } },
});
Readable.from = (source, options) => {
  if (typeof source === 'string' || source instanceof Uint8Array) source = [source];
  const iterator = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]();
  return new Readable({
    objectMode: true,
    highWaterMark: 1,
    ...options,
    async read() {
      try {
        const { value, done } = await iterator.next();
        this.push(done ? null : await value);
      } catch (error) {
        this.destroy(error);
      }
    },
    destroy(error, done) {
      Promise.resolve(iterator.return?.()).then(() => done(error), done);
    },
  });
};
