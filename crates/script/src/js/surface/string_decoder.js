'use strict';

class StringDecoder {
  #rest = Buffer.alloc(0);
  constructor(encoding = 'utf8') { this.encoding = encoding; }
  write(bytes) {
    const whole = Buffer.concat([this.#rest, bytes]);
    const end = /^utf-?8$/i.test(this.encoding) ? complete(whole) : whole.length;
    this.#rest = Buffer.from(whole.subarray(end));
    return whole.toString(this.encoding, 0, end);
  }
  end(bytes) {
    const text = (bytes ? this.write(bytes) : '') + this.#rest.toString(this.encoding);
    this.#rest = Buffer.alloc(0);
    return text;
  }
}

// Returns how many bytes end with a complete character.
const complete = (bytes) => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if (byte < 0x80) break;
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return needed > back ? bytes.length - back : bytes.length;
    }
  }
  return bytes.length;
};
module.exports = { StringDecoder };
