// Reads pages with selectors, follows a link, and walks over elements.
import http from 'k6/http';
import { check } from 'k6';
import { parseHTML } from 'k6/html';

export const options = { iterations: 2 };

export default function () {
  const home = http.get(`${__ENV.BASE_URL}/`);
  const catalogue = home.clickLink({ selector: 'a[href*="catalogue"]' });
  const doc = parseHTML(catalogue.body);
  const ids = [];
  doc.find('li.product').each((index, element) => ids.push(`${index}:${element.getAttribute('data-id')}`));
  check(doc, {
    'followed the link': () => catalogue.url.endsWith('/catalogue?page=1'),
    'elements in order': () => ids.join() === '0:1,1:2,2:3,3:4,4:5',
    'links': (d) => d.find('#products a').toArray().map((a) => a.attr('href'))[2] === '/p/3',
    'text of a table': (d) => d.find('td').map((_, cell) => cell.text()).join('') === 'SM',
    'last': (d) => d.find('li').last().text() === 'product 5',
    'has none': (d) => d.find('.missing').size() === 0,
  });
}
