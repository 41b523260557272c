// WebSocket connections in the event loop: the module k6/websockets.
(native) => {
  const [CONNECTING, OPEN, CLOSING, CLOSED] = [0, 1, 2, 3];
  const NORMAL_CLOSURE = 1000;
  const ABNORMAL_CLOSURE = 1006;
  const EVENTS = ['open', 'message', 'error', 'close', 'ping', 'pong'];
  const TYPES = ['blob', 'arraybuffer'];

  const bytesOf = (part) => {
    if (part instanceof ArrayBuffer) return new Uint8Array(part.slice(0));
    if (ArrayBuffer.isView(part)) {
      return new Uint8Array(part.buffer.slice(part.byteOffset, part.byteOffset + part.byteLength));
    }
    if (part instanceof Blob) return part[BYTES];
    return new TextEncoder().encode(String(part));
  };
  const BYTES = Symbol('bytes');

  // Immutable bytes with a type.
  class Blob {
    constructor(parts = [], options = {}) {
      const all = Array.from(parts, bytesOf);
      const bytes = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
      let offset = 0;
      for (const part of all) {
        bytes.set(part, offset);
        offset += part.length;
      }
      Object.defineProperty(this, BYTES, { value: bytes });
      this.type = String(options?.type ?? '').toLowerCase();
    }
    get size() {
      return this[BYTES].length;
    }
    async arrayBuffer() {
      return this[BYTES].slice().buffer;
    }
    async bytes() {
      return this[BYTES].slice();
    }
    async text() {
      return new TextDecoder().decode(this[BYTES]);
    }
    slice(start, end, type) {
      return new Blob([this[BYTES].slice(start, end)], { type });
    }
  }

  class WebSocket {
    #url;
    #handle;
    #state = CONNECTING;
    #protocol = '';
    #binaryType = 'blob';
    #listeners = { __proto__: null };
    #properties = { __proto__: null };
    // Code and reason of `close`, if it was called before the connection was open.
    #close;

    constructor(url, protocols, params) {
      if (url === undefined || url === null) native.fail('WebSocket requires a url');
      const text = String(url);
      if (!/^wss?:/i.test(text)) {
        const quoted = native.quoted(text.split(':', 1)[0] === text ? '' : text.split(':', 1)[0]);
        native.fail(`WebSocket requires url with scheme ws or wss, but got ${quoted}`);
      }
      native.requireRunning();
      this.#url = text;
      native.openLater(text, protocols, params, (result) => this.#opened(result));
    }

    get url() {
      return this.#url;
    }
    get readyState() {
      return this.#state;
    }
    get protocol() {
      return this.#protocol;
    }
    get bufferedAmount() {
      return this.#handle?.unwritten() ?? 0;
    }
    get binaryType() {
      return this.#binaryType;
    }
    set binaryType(type) {
      if (!TYPES.includes(type)) native.fail(`binaryType is 'blob' or 'arraybuffer', but got '${type}'`);
      this.#binaryType = type;
    }

    send(data) {
      this.#requireOpen();
      const isBinary = data instanceof ArrayBuffer || ArrayBuffer.isView(data) || data instanceof Blob;
      if (!isBinary && typeof data !== 'string') {
        native.fail(`send requires a text, an ArrayBuffer, a typed array or a Blob, but got ${typeof data}`);
      }
      this.#reportError(this.#handle.send(data instanceof Blob ? data[BYTES] : data));
    }
    ping() {
      this.#requireOpen();
      this.#reportError(this.#handle.ping());
    }
    close(code = NORMAL_CLOSURE, reason = '') {
      if (this.#state >= CLOSING) return;
      this.#close = { code: Math.trunc(Number(code)) || NORMAL_CLOSURE, reason: String(reason) };
      this.#state = CLOSING;
      this.#handle?.close(this.#close.code, this.#close.reason);
    }
    addEventListener(type, listener) {
      if (!EVENTS.includes(type)) {
        native.fail(`there is no WebSocket event '${type}': use one of ${EVENTS.join(', ')}`);
      }
      if (typeof listener !== 'function') native.fail(`the listener of '${type}' is not a function`);
      (this.#listeners[type] ??= []).push(listener);
    }

    // Reports why a message was not sent, if there is a reason.
    #reportError(error) {
      if (error) this.#dispatch('error', { error });
    }
    #requireOpen() {
      if (this.#state !== OPEN) native.fail('InvalidStateError');
    }
    #opened({ response, protocol, handle }) {
      if (!handle) {
        this.#state = CLOSED;
        this.#dispatch('error', { error: response.error });
        this.#dispatch('close', { code: ABNORMAL_CLOSURE, reason: '' });
        return;
      }
      this.#handle = handle;
      this.#protocol = protocol;
      handle.listen((event) => this.#received(event));
      if (this.#close) {
        handle.close(this.#close.code, this.#close.reason);
        return;
      }
      this.#state = OPEN;
      this.#dispatch('open', {});
    }
    #received({ type, data, code, reason, error }) {
      if (type === 'close') {
        this.#state = CLOSED;
        if (error) this.#dispatch('error', { error });
        this.#dispatch('close', { code, reason });
      } else if (this.#state !== OPEN) {
        // As in browsers, what arrives after `close` is dropped.
      } else if (type === 'binaryMessage') {
        this.#dispatch('message', { data: this.#binaryType === 'blob' ? new Blob([data]) : data });
      } else {
        this.#dispatch(type, type === 'message' ? { data } : {});
      }
    }
    #dispatch(type, fields) {
      const event = { type, target: this, timestamp: Date.now(), ...fields };
      this.#properties[type]?.call(this, event);
      for (const listener of [...(this.#listeners[type] ?? [])]) listener.call(this, event);
    }

    static {
      for (const type of EVENTS) {
        Object.defineProperty(WebSocket.prototype, `on${type}`, {
          get() {
            return this.#properties[type] ?? null;
          },
          set(listener) {
            this.#properties[type] = typeof listener === 'function' ? listener : undefined;
          },
          enumerable: true,
          configurable: true,
        });
      }
      for (const [name, value] of Object.entries({ CONNECTING, OPEN, CLOSING, CLOSED })) {
        for (const object of [WebSocket, WebSocket.prototype]) {
          Object.defineProperty(object, name, { value, enumerable: true });
        }
      }
    }
  }

  return { WebSocket, Blob };
}
