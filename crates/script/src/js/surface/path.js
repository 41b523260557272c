'use strict';

const check = (path) => {
  if (typeof path !== 'string') {
    throw native.typeError('ERR_INVALID_ARG_TYPE', `The "path" argument must be of type string. Received ${path === undefined ? 'undefined' : typeof path}`);
  }
};
const parts = (path, isAbsolute) => {
  const kept = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (kept.length > 0 && kept.at(-1) !== '..') kept.pop();
      else if (!isAbsolute) kept.push('..');
    } else {
      kept.push(part);
    }
  }
  return kept.join('/');
};

const path = {
  sep: '/',
  delimiter: ':',
  isAbsolute: (name) => { check(name); return name.startsWith('/'); },
  normalize(name) {
    check(name);
    const isAbsolute = name.startsWith('/');
    let plain = parts(name, isAbsolute);
    if (plain === '' && !isAbsolute) plain = '.';
    if (plain !== '' && name.endsWith('/')) plain += '/';
    return (isAbsolute ? '/' : '') + plain;
  },
  join(...names) {
    names.forEach(check);
    const joined = names.filter((name) => name !== '').join('/');
    return joined === '' ? '.' : path.normalize(joined);
  },
  resolve(...names) {
    let whole = '';
    for (const name of [...names].reverse()) {
      check(name);
      if (name === '') continue;
      whole = whole === '' ? name : `${name}/${whole}`;
      if (name.startsWith('/')) break;
    }
    if (!whole.startsWith('/')) whole = `${process.cwd()}/${whole}`;
    return '/' + parts(whole, true);
  },
  dirname(name) {
    check(name);
    const trimmed = name.replace(/\/+$/, '');
    const end = trimmed.lastIndexOf('/');
    if (end === -1) return name.startsWith('/') ? '/' : '.';
    return end === 0 ? '/' : trimmed.slice(0, end).replace(/\/+$/, '') || '/';
  },
  basename(name, ending = '') {
    check(name);
    const base = name.replace(/\/+$/, '').split('/').at(-1);
    return ending !== '' && base !== ending && base.endsWith(ending) ? base.slice(0, -ending.length) : base;
  },
  extname(name) {
    const base = path.basename(name);
    const dot = base.lastIndexOf('.');
    return dot <= 0 ? '' : base.slice(dot);
  },
  relative(from, to) {
    const [start, end] = [path.resolve(from), path.resolve(to)].map((name) => name.split('/').filter((part) => part !== ''));
    let same = 0;
    while (same < start.length && same < end.length && start[same] === end[same]) same++;
    return [...start.slice(same).map(() => '..'), ...end.slice(same)].join('/');
  },
  parse(name) {
    const [base, ext] = [path.basename(name), path.extname(name)];
    const dir = name.includes('/') ? path.dirname(name) : '';
    return { root: name.startsWith('/') ? '/' : '', dir, base, ext, name: ext === '' ? base : base.slice(0, -ext.length) };
  },
  format({ dir, root = '', base, name = '', ext = '' }) {
    const file = base ?? name + ext;
    if (!dir) return root + file;
    return dir === root ? dir + file : `${dir}/${file}`;
  },
  toNamespacedPath: (name) => name,
};
path.posix = path;
module.exports = path;
