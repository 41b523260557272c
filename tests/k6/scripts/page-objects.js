// Pages as classes, with inheritance and private fields.
import { check, group } from 'k6';
import { Page } from './pages/page.js';
import LoginPage from './pages/login-page.js';

export const options = { vus: 2, iterations: 4, thresholds: { 'http_reqs{page:LoginPage}': ['count==4'] } };

export default function () {
  group('log in', () => {
    const account = new LoginPage().open().logIn(`user${__VU}`, 'secret');
    check(account, { 'is logged in': (page) => page.user === `user${__VU}` });
  });
  group('home', () => {
    const home = new Page('/').open();
    check(home, { welcome: (page) => page.text('p.lead') === 'Welcome' });
  });
}
