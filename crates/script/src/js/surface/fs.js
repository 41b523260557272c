'use strict';

const nameOf = (path) => (path instanceof URL ? decodeURIComponent(path.pathname) : String(path));
const encodingOf = (options) => (typeof options === 'string' ? options : options?.encoding);
const stats = (path) => {
  const { size, isFile, isDirectory, mtimeMs } = native.aboutFile(nameOf(path));
  return { size, mtimeMs, mtime: new Date(mtimeMs), isFile: () => isFile, isDirectory: () => isDirectory, isSymbolicLink: () => false };
};
const write = (path, data, options, appends) => {
  const bytes = typeof data === 'string' || ArrayBuffer.isView(data) ? data : String(data);
  native.writeFile(nameOf(path), native.bytesOf(bytes, encodingOf(options)), appends);
};

const sync = {
  readFile(path, options) {
    const buffer = Buffer.from(native.readFile(nameOf(path)));
    const encoding = encodingOf(options);
    return encoding ? buffer.toString(encoding) : buffer;
  },
  readdir(path, options) {
    const names = native.readFolder(nameOf(path));
    if (!options?.withFileTypes) return names;
    return names.map((name) => ({ name, ...stats(`${nameOf(path)}/${name}`) }));
  },
  stat: (path) => stats(path),
  lstat: (path) => stats(path),
  access(path) { native.aboutFile(nameOf(path)); },
  writeFile: (path, data, options) => write(path, data, options, encodingOf(options) !== undefined && options.flag === 'a'),
  appendFile: (path, data, options) => write(path, data, options, true),
};

const fs = {
  existsSync: (path) => native.fileExists(nameOf(path)),
  constants: { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 },
  promises: {},
};
for (const [name, run] of Object.entries(sync)) {
  fs[`${name}Sync`] = run;
  fs.promises[name] = async (...values) => run(...values);
  fs[name] = (...values) => {
    const done = values.pop();
    fs.promises[name](...values).then((value) => done(null, value), (error) => done(error));
  };
}
// The file is read or written as a whole.
fs.createReadStream = (path, options) => new (require('stream').Readable)({
  encoding: encodingOf(options),
  read() {
    try {
      this.push(sync.readFile(path));
      this.push(null);
    } catch (error) {
      this.destroy(error);
    }
  },
});
fs.createWriteStream = (path, options) => {
  let appends = options?.flags === 'a';
  const stream = new (require('stream').Writable)({
    write(chunk, encoding, done) {
      write(path, chunk, encoding, appends);
      appends = true;
      done();
    },
  });
  stream.path = path;
  return stream;
};
module.exports = fs;
