import { A, type B } from './a';
export abstract class C<T> extends D<T> implements E { private x?: T; constructor(readonly y = 1) { super(); } abstract m(): void; }
export enum Level { Low = 1, High, Name = 'n' }
declare global { interface Window { a: 1 } }
export const f = async <T,>(a: T, ...b: T[]): Promise<T> => (a as T)!;
type F = (x: number) => x is 1
let z = <any>f satisfies F
