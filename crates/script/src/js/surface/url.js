'use strict';

const parse = (text, readsQuery) => {
  const parts = { protocol: null, auth: null, host: null, port: null, hostname: null, hash: null, search: null, query: null, pathname: null, path: null, href: text };
  if (URL.canParse(text)) {
    const url = new URL(text);
    const auth = url.username + (url.password ? `:${url.password}` : '');
    Object.assign(parts, {
      protocol: url.protocol, auth: auth || null, host: url.host, port: url.port || null, hostname: url.hostname,
      hash: url.hash || null, search: url.search || null, pathname: url.pathname, href: url.href,
    });
  } else {
    const [, pathname, search, hash] = /^([^?#]*)(\?[^#]*)?(#.*)?$/.exec(text);
    Object.assign(parts, { pathname, search: search ?? null, hash: hash ?? null });
  }
  const query = parts.search?.slice(1) ?? null;
  parts.query = readsQuery ? require('querystring').parse(query ?? '') : query;
  parts.path = (parts.pathname ?? '') + (parts.search ?? '');
  return parts;
};
const format = (url) => {
  if (typeof url === 'string' || url instanceof URL) return String(url);
  const query = url.search ?? (url.query ? `?${require('querystring').stringify(url.query)}` : '');
  const host = url.host ?? (url.hostname ? url.hostname + (url.port ? `:${url.port}` : '') : '');
  const protocol = url.protocol ? url.protocol.replace(/:?$/, ':') : '';
  return `${protocol}${host ? '//' : ''}${url.auth ? `${url.auth}@` : ''}${host}${url.pathname ?? ''}${query}${url.hash ?? ''}`;
};
module.exports = {
  URL,
  URLSearchParams,
  parse,
  format,
  resolve: (from, to) => new URL(to, from).href,
  fileURLToPath: (url) => decodeURIComponent(new URL(url).pathname),
  pathToFileURL: (path) => new URL(`file://${require('path').resolve(path)}`),
};
