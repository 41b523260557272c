// Continues the module `stream`: writing, and both directions.

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
