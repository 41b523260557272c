'use strict';

const name = (algorithm) => String(algorithm).toLowerCase().replace('-', '');
const unknown = (algorithm) => Object.assign(new Error(`Invalid digest: ${algorithm}`), { code: 'ERR_CRYPTO_INVALID_DIGEST' });
const result = (bytes, encoding) => {
  const buffer = Buffer.from(bytes);
  return encoding === undefined || encoding === 'buffer' ? buffer : buffer.toString(encoding);
};

class Hash {
  #parts = [];
  #finish;
  constructor(finish) { this.#finish = finish; }
  update(data, encoding) {
    this.#parts.push(native.bytesOf(data, encoding).slice());
    return this;
  }
  digest(encoding) { return result(this.#finish(native.bytesOf(Buffer.concat(this.#parts))), encoding); }
}

const crypto = {
  createHash(algorithm) {
    if (!crypto.getHashes().includes(name(algorithm))) throw unknown(algorithm);
    return new Hash((bytes) => native.hash(name(algorithm), bytes));
  },
  createHmac(algorithm, key) {
    if (!crypto.getHashes().includes(name(algorithm))) throw unknown(algorithm);
    const secret = native.bytesOf(key).slice();
    return new Hash((bytes) => native.hmac(name(algorithm), secret, bytes));
  },
  hash: (algorithm, data, encoding = 'hex') => crypto.createHash(algorithm).update(data).digest(encoding),
  getHashes: () => ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'],
  randomBytes(size, done) {
    const buffer = Buffer.from(native.randomBytes(size));
    if (done) queueMicrotask(() => done(null, buffer));
    return buffer;
  },
  randomUUID() {
    const bytes = native.randomBytes(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = native.decode(bytes, 'hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  },
  randomInt(min, max, done) {
    if (max === undefined || typeof max === 'function') [min, max, done] = [0, min, max];
    // Six bytes are as exact as a number allows.
    const drawn = crypto.randomBytes(6).reduce((sum, byte) => sum * 256 + byte, 0);
    const value = min + Math.floor((drawn / 2 ** 48) * (max - min));
    if (done) queueMicrotask(() => done(null, value));
    return value;
  },
  randomFillSync(array) {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    bytes.set(native.randomBytes(bytes.length));
    return array;
  },
  timingSafeEqual(a, b) {
    if (a.length !== b.length) {
      throw Object.assign(new RangeError('Input buffers must have the same byte length'), { code: 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH' });
    }
    return a.every((byte, at) => byte === b[at]);
  },
};
const keyOf = (key) => {
  const given = typeof key === 'string' || ArrayBuffer.isView(key) ? { key } : key;
  return { ...given, pem: typeof given.key === 'string' ? given.key : Buffer.from(native.bytesOf(given.key)).toString() };
};
const PSS = 6;
class Sign {
  #parts = [];
  #hash;
  constructor(algorithm) { this.#hash = name(algorithm).replace(/^(rsa|ecdsa|ecdsawith|rsawith)-?/, '').replace('-', ''); }
  update(data, encoding) { this.#parts.push(native.bytesOf(data, encoding).slice()); return this; }
  write(data, encoding) { this.update(data, encoding); return true; }
  end() { return this; }
  sign(key, encoding) {
    const { pem, padding, dsaEncoding } = keyOf(key);
    return result(native.sign(this.#hash, pem, padding === PSS, dsaEncoding === 'ieee-p1363', native.bytesOf(Buffer.concat(this.#parts))), encoding);
  }
}
crypto.createSign = (algorithm) => new Sign(algorithm);
crypto.sign = (algorithm, data, key) => new Sign(algorithm).update(data).sign(key);
crypto.constants = { RSA_PKCS1_PADDING: 1, RSA_PKCS1_PSS_PADDING: PSS, RSA_PSS_SALTLEN_DIGEST: -1 };

const bufferOf = (bytes) => new Uint8Array(bytes).buffer;
const unsupported = (what) => Object.assign(new Error(`${what} is not supported by scripts`), { name: 'NotSupportedError' });
const hashOf = (algorithm) => {
  const hash = name(algorithm?.name ?? algorithm);
  if (!crypto.getHashes().includes(hash)) throw unsupported(`the hash ${algorithm?.name ?? algorithm}`);
  return hash;
};
const subtle = {
  async digest(algorithm, data) { return bufferOf(native.hash(hashOf(algorithm), native.bytesOf(data))); },
  async importKey(format, data, algorithm, extractable, usages) {
    if (format !== 'raw' || algorithm?.name !== 'HMAC') throw unsupported(`a key of ${algorithm?.name ?? algorithm} in the format ${format}`);
    return { type: 'secret', extractable, usages, algorithm: { name: 'HMAC', hash: hashOf(algorithm.hash) }, bytes: native.bytesOf(data).slice() };
  },
  async sign(algorithm, key, data) {
    if (name(algorithm?.name ?? algorithm) !== 'hmac') throw unsupported(`signing with ${algorithm?.name ?? algorithm}`);
    return bufferOf(native.hmac(key.algorithm.hash, key.bytes, native.bytesOf(data)));
  },
  async verify(algorithm, key, signature, data) {
    const wanted = Buffer.from(await subtle.sign(algorithm, key, data));
    return wanted.equals(Buffer.from(native.bytesOf(signature)));
  },
};
crypto.subtle = subtle;
crypto.getRandomValues = crypto.randomFillSync;
crypto.webcrypto = { getRandomValues: crypto.randomFillSync, randomUUID: crypto.randomUUID, subtle };
module.exports = crypto;
