// Metrics of the script: all four types, with tags and thresholds.
import http from 'k6/http';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

const orders = new Counter('orders');
const basket = new Gauge('basket_size');
const failures = new Rate('order_failures');
const waiting = new Trend('order_waiting', true);
const prices = new Trend('order_price');

export const options = {
  vus: 1,
  iterations: 4,
  thresholds: {
    orders: ['count==4'],
    'orders{currency:EUR}': ['count==2'],
    basket_size: ['value==4'],
    order_failures: ['rate==0.25'],
    order_waiting: ['p(95)<5000'],
    order_price: ['min==10', 'max==40', 'avg==25', 'med==25', 'p(90)<=40'],
  },
};

export default function () {
  const response = http.post(`${__ENV.BASE_URL}/orders`, JSON.stringify({ price: (__ITER + 1) * 10 }));
  orders.add(1, { currency: __ITER % 2 ? 'USD' : 'EUR' });
  basket.add(__ITER + 1);
  failures.add(response.json('price') > 30);
  waiting.add(response.timings.waiting);
  prices.add(response.json('price'), { source: 'response' });
}
