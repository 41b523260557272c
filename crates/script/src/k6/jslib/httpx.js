// The library httpx: sessions with a base URL, headers and tags.

import http from 'k6/http';

export class Request {
  constructor(method, url, body, params = {}) {
    Object.assign(this, { method, url, body, params });
  }
}

// Functions, because scripts write `new Get(url)`, and arrow functions are not constructors.
export function Get(url, body, params) {
  return new Request('GET', url, null, params ?? body);
}
export function Head(url, body, params) {
  return new Request('HEAD', url, null, params ?? body);
}
export function Post(url, body, params) {
  return new Request('POST', url, body, params);
}
export function Put(url, body, params) {
  return new Request('PUT', url, body, params);
}
export function Patch(url, body, params) {
  return new Request('PATCH', url, body, params);
}
export function Delete(url, body, params) {
  return new Request('DELETE', url, body, params);
}
export function Options(url, body, params) {
  return new Request('OPTIONS', url, body, params);
}

export class Httpx {
  constructor({ baseURL = '', headers = {}, tags = {}, timeout } = {}) {
    Object.assign(this, { baseURL, headers: { ...headers }, tags: { ...tags }, timeout });
  }

  setBaseUrl(url) {
    this.baseURL = url;
  }
  addHeader(name, value) {
    this.headers[name] = value;
  }
  addHeaders(headers) {
    Object.assign(this.headers, headers);
  }
  removeHeader(name) {
    delete this.headers[name];
  }
  clearHeader(name) {
    delete this.headers[name];
  }
  addTag(name, value) {
    this.tags[name] = value;
  }
  addTags(tags) {
    Object.assign(this.tags, tags);
  }
  setTimeout(timeout) {
    this.timeout = timeout;
  }

  #url(url) {
    return /^https?:\/\//.test(url) ? url : this.baseURL + url;
  }

  #params(params) {
    const own = params ?? {};
    const merged = {
      ...own,
      headers: { ...this.headers, ...own.headers },
      tags: { ...this.tags, ...own.tags },
    };
    const timeout = own.timeout ?? this.timeout;
    if (timeout !== undefined) merged.timeout = timeout;
    return merged;
  }

  request(method, url, body, params) {
    return http.request(method, this.#url(url), body, this.#params(params));
  }
  asyncRequest(method, url, body, params) {
    return http.asyncRequest(method, this.#url(url), body, this.#params(params));
  }
  get(url, body, params) {
    return this.request('GET', url, null, params ?? body);
  }
  head(url, body, params) {
    return this.request('HEAD', url, null, params ?? body);
  }
  post(url, body, params) {
    return this.request('POST', url, body, params);
  }
  put(url, body, params) {
    return this.request('PUT', url, body, params);
  }
  patch(url, body, params) {
    return this.request('PATCH', url, body, params);
  }
  delete(url, body, params) {
    return this.request('DELETE', url, body, params);
  }
  del(url, body, params) {
    return this.request('DELETE', url, body, params);
  }
  options(url, body, params) {
    return this.request('OPTIONS', url, body, params);
  }

  batch(requests, params) {
    return http.batch(
      requests.map(({ method, url, body, params: own }) => ({
        method,
        url: this.#url(url),
        body,
        params: this.#params({ ...params, ...own }),
      })),
    );
  }
}
