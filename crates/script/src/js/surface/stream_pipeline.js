// Continues the module `stream`: several streams, and its exports.

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
