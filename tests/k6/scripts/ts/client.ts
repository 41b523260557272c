import http, { type RefinedResponse, type ResponseType } from 'k6/http';
import type { Product, Result } from './types.ts';

abstract class Client {
  constructor(protected readonly baseUrl: string, protected headers: Record<string, string> = {}) {}

  abstract product(id: number): unknown;

  url(id: number): string;
  url(path: string): string;
  url(part: number | string): string {
    return typeof part === 'number' ? `${this.baseUrl}/api/products/${part}` : `${this.baseUrl}${part}`;
  }
}

export class ShopClient<T extends Product = Product> extends Client {
  private readonly calls: Map<string, number> = new Map();

  override product(id: number): Result<T> {
    const response: RefinedResponse<ResponseType | undefined> = http.get(this.url(id), {
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
