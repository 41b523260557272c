use super::strip_types;

/// Strips types. In the expected text, `#` stands for a run of spaces of any length.
fn check(source: &str, wanted: &str) {
    let stripped = strip_types(source).unwrap_or_else(|error| panic!("{source}: {error:?}"));
    assert_eq!(
        stripped.matches('\n').count(),
        source.matches('\n').count(),
        "{stripped}"
    );
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&stripped), words(wanted), "{source}");
}

#[test]
fn annotations_become_spaces() {
    let source = "export async function login(context: Context, events?: Events): Promise<void> {\n  let count!: number;\n  const { a, b }: { a: string; b: number } = context.vars;\n  for (const x of xs as string[]) use(x!);\n}\n";
    let wanted = "export async function login(context         , events         )                {\n  let count         ;\n  const { a, b }                           = context.vars;\n  for (const x of xs            ) use(x );\n}\n";
    assert_eq!(strip_types(source).as_deref(), Ok(wanted));
}

#[test]
fn types_of_all_kinds_are_removed() {
    check("type A<T> = { [k in keyof T]: T[k] }\n(b)()", ";\n(b)()");
    check("interface A { x: number }\nlet y = 1", ";\nlet y = 1");
    check("export type { A } from './a'; export type B = 1;", "; ;");
    check(
        "declare const x: number; declare module 'm' {} x;",
        "; ; x;",
    );
    check("namespace N { export interface A {} } f()", "; f()");
    check(
        "f<string>(a); new Map<string, number>(); tag<A>`x`;",
        "f (a); new Map (); tag `x`;",
    );
    check("const f = <T,>(x: T): T => x;", "const f = (x ) => x;");
    check(
        "const f = (x?: number, ...rest: any[]) => x!;",
        "const f = (x , ...rest ) => x ;",
    );
    check(
        "function f(this: Window, a: number) {}",
        "function f( a ) {}",
    );
    check(
        "function f(a: 1): 1; function f(a: any) {}",
        "; function f(a ) {}",
    );
    check("x = y satisfies Z; z = <any>w;", "x = y ; z = ( w);");
    check("try {} catch (e: unknown) {}", "try {} catch (e ) {}");
    check(
        "const g = f<string>; let [a]: [number] = [1]",
        "const g = f ; let [a] = [1]",
    );
    check(
        "const o = { m<T>(x: T): T { return x as T } }",
        "const o = { m (x ) { return x ; } }",
    );
}

#[test]
fn statements_stay_apart() {
    check("let x: number\n(f)()", "let x ;\n(f)()");
    check("a = b as any\n[1].map(f)", "a = b ;\n[1].map(f)");
    check("a = b as { c: 1 }\n[1].map(f)", "a = b ;\n[1].map(f)");
    check("f(() => x as T, 2)", "f(() => x , 2)");
    check("const f = (a: 1):\n  number => a", "const f = (a \n ) => a");
    check(
        "const f = async <\n T>(a: T) => a",
        "const f = async ( \n a ) => a",
    );
    check(
        "const f = () => <A>{ a: 1 };",
        "const f = () => ( { a: 1 });",
    );
}

#[test]
fn classes_lose_their_types() {
    check(
        "abstract class A<T> extends B<T> implements C, D<T> {\n private readonly x: number = 1;\n static y?: string\n declare z: 1;\n [key: string]: any;\n abstract m(): void;\n protected async n?(a: T): Promise<T> { return a }\n}",
        "class A extends B {\n ; x = 1;\n static y ;\n ;\n ;\n ;\n ; async n (a ) { return a }\n}",
    );
    check(
        "class A extends B { constructor(private a: number, readonly b = 2, c?: string) { super(); this.d() } }",
        "class A extends B { constructor( a , b = 2, c ) { super();; this.a = a; this.b = b; this.d() } }",
    );
}

#[test]
fn imports_used_only_as_types_are_removed() {
    check(
        "import { A, b } from './a';\nlet x: A = b;",
        "import { b } from './a';\nlet x = b;",
    );
    check("import { A } from './a';\nlet x: A;", ";\nlet x ;");
    check(
        "import { type A, b } from './a'; b()",
        "import { b } from './a'; b()",
    );
    check(
        "import D, { A } from './a'; D()",
        "import D, { } from './a'; D()",
    );
    check(
        "import type { A } from './a'; import './b';",
        "; import './b';",
    );
    check("import * as N from './a'; let x: N.A", "; let x ;");
    check(
        "import fs = require('fs'); export = fs;",
        "const fs = require('fs'); module.exports = fs;",
    );
    check(
        "type T = 1; const c = 2; export { T, c };",
        "; const c = 2; export { c };",
    );
    check(
        "import { a } from './a'; export { a };",
        "import { a } from './a'; export { a };",
    );
}

#[test]
fn enumerations_become_objects() {
    check(
        "export enum A { X, Y = 4,\n Z = \"z\", W = X | Y }",
        "export var A = (function (A) { A[A[\"X\"] = 0] = \"X\"; A[A[\"Y\"] = 4] = \"Y\";\n A[\"Z\"] = \"z\"; A[A[\"W\"] = A.X | A.Y] = \"W\"; return A; })(A || {});",
    );
}

#[test]
fn constant_and_declared_enumerations() {
    check(
        "const enum A { X }\ndeclare enum B { Y }\nf(A.X)",
        "var A = (function (A) { A[A[\"X\"] = 0] = \"X\"; return A; })(A || {});\n;\nf(A.X)",
    );
}

#[test]
fn what_cannot_be_run_is_refused_with_its_position() {
    for (source, line, column, message) in [
        (
            "let x = 1;\n  namespace N { export const a = 1 }",
            2,
            3,
            "a namespace with code",
        ),
        ("@sealed class A {}", 1, 1, "decorators"),
        ("class A {\n @log m() {} }", 2, 2, "decorators"),
        ("let ü: = 1;", 1, 8, "Unexpected token"),
    ] {
        let refusal = strip_types(source).expect_err(source);
        assert_eq!(
            (refusal.line, refusal.column),
            (line, column),
            "{refusal:?}"
        );
        assert!(refusal.message.starts_with(message), "{refusal:?}");
    }
}

#[test]
fn plain_javascript_is_left_alone() {
    let source = "'use strict';\nconst { a = 1, ...b } = require('./c');\nmodule.exports = { f: async (x, y = x ? 1 : 2) => `${x}` };\nlabel: for (;;) break label\n";
    assert_eq!(strip_types(source).as_deref(), Ok(source));
}
