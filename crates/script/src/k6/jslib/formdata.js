// The library formdata: bodies of type `multipart/form-data` in the order of their fields.

const bytesOf = (data) => {
  if (typeof data === 'string') return new TextEncoder().encode(data);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data))
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return new TextEncoder().encode(String(data));
};

const escapeName = (name) =>
  String(name).replace(/"/g, '%22').replace(/\r/g, '%0D').replace(/\n/g, '%0A');

export class FormData {
  #parts = [];

  constructor() {
    this.boundary = `------------------------${crypto.randomUUID().replace(/-/g, '')}`;
  }

  // Adds a field: a text, bytes, or a file `{ data, filename, content_type }`.
  append(name, value, filename) {
    const isFile = value !== null && typeof value === 'object' && 'data' in value;
    const file = isFile ? value : { data: value };
    const fileName = filename ?? file.filename;
    let head = `Content-Disposition: form-data; name="${escapeName(name)}"`;
    if (fileName !== undefined) head += `; filename="${escapeName(fileName)}"`;
    const type =
      file.content_type ?? (fileName === undefined ? undefined : 'application/octet-stream');
    if (type !== undefined) head += `\r\nContent-Type: ${type}`;
    this.#parts.push([head, bytesOf(file.data)]);
  }

  body() {
    const pieces = [];
    for (const [head, data] of this.#parts) {
      pieces.push(bytesOf(`--${this.boundary}\r\n${head}\r\n\r\n`), data, bytesOf('\r\n'));
    }
    pieces.push(bytesOf(`--${this.boundary}--\r\n`));
    const body = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      body.set(piece, at);
      at += piece.length;
    }
    return body.buffer;
  }
}
