import { Page } from './page.js';
import AccountPage from './account-page.js';

export default class LoginPage extends Page {
  constructor() {
    super('/login');
  }

  logIn(user, password) {
    const response = this.response.submitForm({ formSelector: '#login', fields: { user, password } });
    return new AccountPage(response);
  }
}
