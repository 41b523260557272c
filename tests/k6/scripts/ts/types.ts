export interface Product {
  id: number;
  name: string;
  readonly price: number;
  tags?: string[];
}

export enum Role {
  Visitor = 'visitor',
  Admin = 'admin',
}

export type Result<T> = { ok: true; value: T } | { ok: false; error: string };
