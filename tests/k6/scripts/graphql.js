// GraphQL: a query with variables, a mutation, and errors with status 200.
import http from 'k6/http';
import { check } from 'k6';

export const options = { iterations: 2, thresholds: { 'http_reqs{operation:products}': ['count==2'] } };

const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer token-demo' };

function graphql(operation, query, variables) {
  const body = JSON.stringify({ operationName: operation, query, variables });
  return http.post(`${__ENV.BASE_URL}/graphql`, body, { headers, tags: { operation, name: `graphql ${operation}` } });
}

export default function () {
  const query = `
    query products($first: Int!) {
      products(first: $first) { id name }
    }`;
  const products = graphql('products', query, { first: 3 });
  check(products, {
    'three products': (r) => r.json('data.products.#') === 3,
    'no errors': (r) => r.json('errors') === undefined,
  });
  const added = graphql('add', 'mutation add($input: New!) { addProduct(input: $input) { id } }', {
    input: { name: 'pen' },
  });
  check(added, { 'added': (r) => r.json().data.addProduct.name === 'pen' });
  const broken = graphql('broken', '{ broken }');
  check(broken, { 'errors are reported': (r) => r.status === 200 && r.json('errors.0.message') === 'unknown field' });
}
