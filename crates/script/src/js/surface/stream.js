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

// Writing

function Writable(options) {
  if (!(this instanceof Writable)) return new Writable(options);
  setUp(this, options ?? {});
  initWritable(this, options ?? {});
}
Object.setPrototypeOf(Writable.prototype, Stream.prototype);
Object.setPrototypeOf(Writable, Stream);

const initWritable = (stream, options) => {
  const objectMode = isObjectMode(options, 'writable');
  stream._writableState = {
    objectMode,
    highWaterMark: limit(options, 'writable', objectMode),
    autoDestroy: options.autoDestroy !== false,
    decodeStrings: options.decodeStrings !== false,
    defaultEncoding: options.defaultEncoding ?? 'utf8',
    buffer: [],
    length: 0,
    corked: 0,
    writing: false,
    needDrain: false,
    ending: false,
    isFinal: false,
    finished: false,
  };
  stream.writable = true;
};
const writeNext = (stream) => {
  const state = stream._writableState;
  if (state.writing || state.corked > 0 || stream.destroyed) return;
  const next = state.buffer.shift();
  if (next === undefined) return finish(stream);
  state.writing = true;
  let isSync = true;
  const written = (error) => {
    state.writing = false;
    state.length -= next.size;
    if (error) {
      next.done?.(error);
      stream.destroy(error);
      return;
    }
    const goOn = () => {
      next.done?.(null);
      if (state.needDrain && state.length === 0 && !state.ending) {
        state.needDrain = false;
        stream.emit('drain');
      }
      writeNext(stream);
    };
    if (isSync) process.nextTick(goOn);
    else goOn();
  };
  try {
    stream._write(next.chunk, next.encoding, written);
  } catch (error) {
    stream.destroy(error);
  }
  isSync = false;
};
const finish = (stream) => {
  const state = stream._writableState;
  if (!state.ending || state.isFinal || state.writing || state.buffer.length > 0) return;
  state.isFinal = true;
  const done = (error) => {
    if (error) {
      stream.destroy(error);
      return;
    }
    process.nextTick(() => {
      if (stream.destroyed) return;
      state.finished = true;
      stream.emit('finish');
      closeWhenDone(stream);
    });
  };
  try {
    if (stream._final) stream._final(done);
    else done();
  } catch (error) {
    stream.destroy(error);
  }
};

const writing = {
  _write(chunk, encoding, done) {
    if (!this._writev) throw coded('ERR_METHOD_NOT_IMPLEMENTED', 'The _write() method is not implemented');
    this._writev([{ chunk, encoding }], done);
  },
  write(chunk, encoding, done) {
    const state = this._writableState;
    if (typeof encoding === 'function') [encoding, done] = [undefined, encoding];
    if (chunk === null) throw coded('ERR_STREAM_NULL_VALUES', 'May not write null values to stream');
    const code = state.ending ? 'ERR_STREAM_WRITE_AFTER_END' : 'ERR_STREAM_DESTROYED';
    if (state.ending || this.destroyed) {
      const error = coded(code, state.ending ? 'write after end' : 'Cannot call write after a stream was destroyed');
      process.nextTick(() => done?.(error));
      this.destroy(error);
      return false;
    }
    encoding ??= state.defaultEncoding;
    if (!state.objectMode && typeof chunk === 'string' && state.decodeStrings) {
      chunk = Buffer.from(chunk, encoding);
      encoding = 'buffer';
    } else if (!state.objectMode && typeof chunk !== 'string') {
      if (!(chunk instanceof Uint8Array)) {
        const message = 'The "chunk" argument must be of type string or an instance of Buffer or Uint8Array.';
        throw native.typeError('ERR_INVALID_ARG_TYPE', message);
      }
      if (!Buffer.isBuffer(chunk)) chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      encoding = 'buffer';
    }
    const size = sizeOf(state, chunk);
    state.length += size;
    const hasRoom = state.length < state.highWaterMark;
    if (!hasRoom) state.needDrain = true;
    state.buffer.push({ chunk, encoding, done, size });
    writeNext(this);
    return hasRoom;
  },
  end(chunk, encoding, done) {
    if (typeof chunk === 'function') [chunk, done] = [undefined, chunk];
    if (typeof encoding === 'function') [encoding, done] = [undefined, encoding];
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    const state = this._writableState;
    if (done) {
      if (state.finished) process.nextTick(done);
      else this.once('finish', done);
    }
    state.corked = 0;
    state.ending = true;
    this.writable = false;
    writeNext(this);
    return this;
  },
  cork() { this._writableState.corked += 1; },
  uncork() {
    const state = this._writableState;
    state.corked = Math.max(0, state.corked - 1);
    writeNext(this);
  },
  setDefaultEncoding(encoding) { this._writableState.defaultEncoding = encoding; return this; },
};
const writingProperties = {
  writableEnded: { get() { return this._writableState.ending; }, configurable: true },
  writableFinished: { get() { return this._writableState.finished; }, configurable: true },
  writableLength: { get() { return this._writableState.length; }, configurable: true },
  writableObjectMode: { get() { return this._writableState.objectMode; }, configurable: true },
  writableHighWaterMark: { get() { return this._writableState.highWaterMark; }, configurable: true },
  writableNeedDrain: { get() { return this._writableState.needDrain; }, configurable: true },
};
Object.assign(Writable.prototype, destroyable, writing);
Object.defineProperties(Writable.prototype, writingProperties);
// A duplex stream is both, although it inherits from one.
Object.defineProperty(Writable, Symbol.hasInstance, {
  value(object) {
    if (Function.prototype[Symbol.hasInstance].call(this, object)) return true;
    return this === Writable && object?._writableState !== undefined;
  },
});

// Both

function Duplex(options) {
  if (!(this instanceof Duplex)) return new Duplex(options);
  setUp(this, options ?? {});
  initReadable(this, options ?? {});
  initWritable(this, options ?? {});
  this.allowHalfOpen = options?.allowHalfOpen !== false;
}
Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
Object.setPrototypeOf(Duplex, Readable);
Object.assign(Duplex.prototype, writing);
Object.defineProperties(Duplex.prototype, writingProperties);

function Transform(options) {
  if (!(this instanceof Transform)) return new Transform(options);
  Duplex.call(this, options);
}
Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
Object.setPrototypeOf(Transform, Duplex);
// Callbacks of chunks that wait until their results have been read.
const waiting = new WeakMap();
Object.assign(Transform.prototype, {
  _transform() { throw coded('ERR_METHOD_NOT_IMPLEMENTED', 'The _transform() method is not implemented'); },
  _write(chunk, encoding, done) {
    this._transform(chunk, encoding, (error, result) => {
      if (error) return done(error);
      if (result !== null && result !== undefined) this.push(result);
      const state = this._readableState;
      if (state.ended || state.length < state.highWaterMark) done();
      else waiting.set(this, done);
    });
  },
  _read() {
    this._readableState.reading = false;
    const done = waiting.get(this);
    waiting.delete(this);
    done?.();
  },
  _final(done) {
    if (!this._flush) {
      this.push(null);
      return done();
    }
    this._flush((error, result) => {
      if (error) return done(error);
      if (result !== null && result !== undefined) this.push(result);
      this.push(null);
      done();
    });
  },
});

function PassThrough(options) {
  if (!(this instanceof PassThrough)) return new PassThrough(options);
  Transform.call(this, options);
}
Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
Object.setPrototypeOf(PassThrough, Transform);
PassThrough.prototype._transform = (chunk, encoding, done) => done(null, chunk);

// Several streams

const finished = (stream, options, done) => {
  if (typeof options === 'function') [options, done] = [{}, options];
  let [reads, writes] = [
    options?.readable !== false && stream._readableState !== undefined && !stream._readableState.endEmitted,
    options?.writable !== false && stream._writableState !== undefined && !stream._writableState.finished,
  ];
  let isOver = false;
  const over = (error) => {
    if (isOver) return;
    isOver = true;
    undo();
    done(error);
  };
  const onEnd = () => { reads = false; if (!writes) over(); };
  const onFinish = () => { writes = false; if (!reads) over(); };
  const onClose = () => over(reads || writes ? coded('ERR_STREAM_PREMATURE_CLOSE', 'Premature close') : undefined);
  const undo = () => {
    stream.off('end', onEnd);
    stream.off('finish', onFinish);
    stream.off('error', over);
    stream.off('close', onClose);
  };
  stream.on('end', onEnd);
  stream.on('finish', onFinish);
  stream.on('error', over);
  stream.on('close', onClose);
  if (stream.closed || (!reads && !writes)) process.nextTick(() => (stream.errored ? over(stream.errored) : onClose()));
  return undo;
};

const pipeline = (...parts) => {
  const done = typeof parts.at(-1) === 'function' && parts.length > 1 ? parts.pop() : undefined;
  const streams = Array.isArray(parts[0]) && parts.length === 1 ? parts[0] : parts;
  let isOver = false;
  const all = [];
  const over = (error, value) => {
    if (isOver) return;
    isOver = true;
    if (error) {
      for (const stream of all) {
        if (stream.destroyed) continue;
        stream.on('error', () => {});
        stream.destroy(error);
      }
    }
    done?.(error ?? undefined, value);
  };
  let last;
  for (const [at, part] of streams.entries()) {
    let next = part;
    if (typeof part === 'function') {
      const made = at === 0 ? part() : part(last);
      if (at > 0 && typeof made?.then === 'function') {
        made.then((value) => over(undefined, value), over);
        return last;
      }
      next = Readable.from(made);
    } else if (at === 0 && typeof part.pipe !== 'function') {
      next = Readable.from(part);
    }
    all.push(next);
    const isLast = at === streams.length - 1;
    finished(next, { readable: !isLast || next._writableState === undefined, writable: at > 0 }, (error) => {
      if (error || isLast) over(error);
    });
    if (last !== undefined && typeof part !== 'function') last.pipe(next);
    last = next;
  }
  return last;
};

const promises = {
  pipeline: (...parts) => new Promise((resolve, reject) => {
    pipeline(...parts, (error, value) => (error ? reject(error) : resolve(value)));
  }),
  finished: (stream, options) => new Promise((resolve, reject) => {
    finished(stream, options ?? {}, (error) => (error ? reject(error) : resolve()));
  }),
};

module.exports = Object.assign(Stream, {
  Stream, Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, promises,
});
