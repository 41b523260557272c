'use strict';

const escape = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => c);
const unescape = (text) => {
  try { return decodeURIComponent(text.replace(/\+/g, ' ')); } catch { return text; }
};
const primitive = (value) => (['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : '');

const querystring = {
  escape,
  unescape,
  stringify(pairs, separator = '&', equals = '=') {
    if (typeof pairs !== 'object' || pairs === null) return '';
    return Object.entries(pairs)
      .flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((one) => escape(name) + equals + escape(primitive(one))))
      .join(separator);
  },
  parse(text, separator = '&', equals = '=') {
    const pairs = Object.create(null);
    for (const pair of String(text).split(separator).filter((pair) => pair !== '')) {
      const at = pair.indexOf(equals);
      const [name, value] = at === -1 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + equals.length)];
      const [key, own] = [unescape(name), unescape(value)];
      pairs[key] = key in pairs ? [].concat(pairs[key], own) : own;
    }
    return pairs;
  },
};
querystring.encode = querystring.stringify;
querystring.decode = querystring.parse;
module.exports = querystring;
