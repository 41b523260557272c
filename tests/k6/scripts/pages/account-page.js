import { Page } from './page.js';

export default class AccountPage extends Page {
  #response;

  constructor(response) {
    super('/account');
    this.#response = response;
  }

  get user() {
    return this.#response.html('#user').text();
  }
}
