import http from 'k6/http';

// A page of the shop, with the response that it was read from.
export class Page {
  constructor(path) {
    this.path = path;
    this.response = undefined;
  }

  open() {
    this.response = http.get(`${__ENV.BASE_URL}${this.path}`, { tags: { page: this.constructor.name } });
    return this;
  }

  text(selector) {
    return this.response.html(selector).text();
  }
}
