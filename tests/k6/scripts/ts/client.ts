import http, { type RefinedResponse, type ResponseType } from 'k6/http';
import type { Product, Result } from './types.ts';

export class ShopClient<T extends Product = Product> {
  private readonly calls: Map<string, number> = new Map();

  constructor(private baseUrl: string, protected headers: Record<string, string> = {}) {}

  product(id: number): Result<T> {
    const response: RefinedResponse<ResponseType | undefined> = http.get(`${this.baseUrl}/api/products/${id}`, {
      headers: this.headers,
    });
    this.calls.set('product', (this.calls.get('product') ?? 0) + 1);
    if (response.status !== 200) return { ok: false, error: response.json('error') as string };
    return { ok: true, value: response.json() as unknown as T };
  }

  get count(): number {
    return this.calls.get('product')!;
  }
}
