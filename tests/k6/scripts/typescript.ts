// A typed client in modules of its own.
import { check } from 'k6';
import { Options } from 'k6/options';
import { ShopClient } from './ts/client.ts';
import { Role, type Product } from './ts/types.ts';

export const options: Options = { vus: 1, iterations: 2 };

const expectedPrice = (product: Product): number => product.price satisfies number;

export default function (): void {
  const client = new ShopClient(__ENV.BASE_URL as string, { 'X-Role': Role.Admin });
  const found = client.product(4);
  const missing = client.product(4000);
  check(client, {
    'typed product': () => found.ok && expectedPrice(found.value) === 40,
    'typed error': () => !missing.ok && missing.error === 'no such product',
    'counts calls': (c: ShopClient) => c.count === 2,
  });
}
