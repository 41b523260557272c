// Blocking WebSocket connections: the module k6/ws.
(native) => {
  const EVENTS = ['open', 'message', 'binaryMessage', 'ping', 'pong', 'close', 'error'];
  const GOING_AWAY = 1001;
  // As for timers of the event loop.
  const LEAST_DELAY_MS = 1;

  // Creates the object that the script's function receives, and its loop.
  function createSession(handle) {
    const handlers = { __proto__: null };
    let timers = [];
    let isClosed = false;

    const emit = (event, ...values) => {
      for (const handler of handlers[event] ?? []) handler(...values);
    };
    const emitError = (text) => emit('error', { error: () => text });
    const closed = (code) => {
      if (isClosed) return;
      isClosed = true;
      emit('close', code);
    };
    const send = (data) => {
      const error = handle.send(data);
      if (error) return emitError(error);
      handle.flush();
    };
    const addTimer = (name, handler, ms, repeats) => {
      if (typeof handler !== 'function') native.fail(`${name} requires a function`);
      const wanted = Number(ms);
      if (!(wanted > 0)) {
        native.fail(`${name} requires a >0 timeout parameter, received ${(wanted || 0).toFixed(2)}`);
      }
      const delay = Math.max(wanted, LEAST_DELAY_MS);
      timers.push({ handler, delay, repeats, due: native.now() + delay });
    };
    const firstTimer = () => timers.reduce((a, b) => (a && a.due <= b.due ? a : b), undefined);
    const runTimer = (timer) => {
      if (timer.repeats) {
        // Ticks that were missed are skipped, and the others keep their times.
        const missed = Math.floor((native.now() - timer.due) / timer.delay);
        timer.due += timer.delay * (1 + missed);
      } else timers = timers.filter((other) => other !== timer);
      timer.handler();
    };

    const socket = {
      on(event, handler) {
        if (typeof handler !== 'function') native.fail(`the handler of '${event}' is not a function`);
        if (!EVENTS.includes(event)) {
          native.warn(`there is no WebSocket event '${event}': its handler is never called`);
        }
        (handlers[event] ??= []).push(handler);
      },
      send(text) {
        send(String(text));
      },
      sendBinary(data) {
        if (!(data instanceof ArrayBuffer)) {
          native.fail('sendBinary requires an ArrayBuffer: use `.buffer` of a typed array');
        }
        send(data);
      },
      ping() {
        const error = handle.ping();
        if (error) emitError(error);
      },
      setTimeout: (handler, ms) => addTimer('setTimeout', handler, ms, false),
      setInterval: (handler, ms) => addTimer('setInterval', handler, ms, true),
      close(code) {
        if (isClosed) return;
        const given = Math.trunc(Number(code ?? GOING_AWAY)) || GOING_AWAY;
        handle.close(given, '');
        handle.end();
        closed(given);
      },
    };

    const dispatch = (event) => {
      if (event.type === 'message' || event.type === 'binaryMessage') emit(event.type, event.data);
      else if (event.type !== 'close') emit(event.type);
      else {
        if (event.error) emitError(event.error);
        closed(event.code);
      }
    };
    const run = () => {
      emit('open');
      // Timers and events alternate, so that slow handlers of timers do not hold up events.
      let isTimersTurn = true;
      while (!isClosed) {
        const timer = firstTimer();
        const wait = timer === undefined ? undefined : Math.max(0, timer.due - native.now());
        if (wait === 0 && isTimersTurn) {
          isTimersTurn = false;
          runTimer(timer);
          continue;
        }
        isTimersTurn = true;
        const event = handle.next(wait);
        if (event !== null) dispatch(event);
      }
    };
    return { socket, run };
  }

  function connect(url, ...rest) {
    if (rest.length < 1) native.fail('invalid number of arguments to ws.connect');
    const handler = rest[rest.length - 1];
    if (typeof handler !== 'function') native.fail('last argument to ws.connect must be a function');
    native.requireRunning();
    const { response, handle } = native.open(String(url), rest.length > 1 ? rest[0] : undefined);
    if (!handle) return response;
    const { socket, run } = createSession(handle);
    try {
      handler(socket);
      run();
    } finally {
      handle.end();
    }
    return response;
  }

  return { connect };
}
