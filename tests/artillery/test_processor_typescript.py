"""Processors in TypeScript: types are removed, and positions stay true."""

from __future__ import annotations

import pytest
from processors import run, write

REST = "scenarios: [{ flow: [{ function: f }, { get: { url: '/{{ x }}' } }] }]"


def test_processor_in_typescript_runs(loadline):
    write(loadline, "lib/levels.ts", "export enum Level { Low = 1, High }\nexport interface Shape { a: number }\n")
    write(loadline, "lib/plain.js", "module.exports = { twice: (n) => 2 * n };\n")
    code = """
    import { Level, type Shape } from './lib/levels.js';
    import { twice } from './lib/plain';
    import { Never } from './missing';
    type Vars = Record<string, unknown>;
    class Counter<T extends Shape> {
      private readonly seen: T[] = [];
      constructor(public start: number) {}
      add(item: T): this { this.seen.push(item!); return this; }
      get total(): number { return this.start + (this.seen.length as number); }
    }
    export async function f(context: { vars: Vars }, events?: Never): Promise<void> {
      const counter = new Counter<Shape>(twice(Level.High));
      context.vars.x = counter.add({ a: 1 } satisfies Shape).total;
    }
    """
    done = run(loadline, code, REST, processor="helpers.ts")
    assert done.code == 0, done.stderr
    assert done.lines == ["GET /5"]


def test_positions_are_those_of_the_original(loadline):
    code = "type T = {\n  a: 1;\n};\n"
    code += "export function f(context: any, events: any, done: () => void): void { throw new Error('here' as string); }\n"
    done = run(loadline, code, REST, processor="helpers.ts")
    assert f"`f` failed: {loadline.folder}/helpers.ts:4:82: Error: here" in done.stderr


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("export function f(a: ) {}\n", "helpers.ts:1:22: SyntaxError: "),
        (
            "export const a = 1;\n  namespace N { export const b = 1 }",
            "helpers.ts:2:3: SyntaxError: a namespace with code cannot be run: write it in plain JavaScript",
        ),
        (
            "@sealed class A {}\nexport function f() {}",
            "helpers.ts:1:1: SyntaxError: decorators cannot be run: write it in plain JavaScript",
        ),
        ("import { a } from './none';\nexport const f = () => a();", "Cannot find module './none'"),
    ],
)
def test_typescript_that_cannot_be_run_is_refused(loadline, code, line):
    done = run(loadline, code, REST, processor="helpers.ts")
    assert done.code == 11
    assert done.requests == []
    assert line in done.stderr, done.stderr


def test_all_modules_that_cannot_be_loaded_are_named(loadline):
    write(
        loadline,
        "lib/own.js",
        "require('child_process');\ntry { require('optional'); } catch {}\nexports.x = () => require('later');\n",
    )
    code = "const a = require('./lib/own');\nconst b = require('left-pad');\nconst c = require('./none');\nexports.f = () => {};\n"
    done = run(loadline, code, REST)
    assert done.code == 11
    text = done.stderr
    assert "3 modules cannot be loaded:" in text, text
    assert "helpers.js:2:19: Cannot find module 'left-pad'" in text
    assert "helpers.js:3:19: Cannot find module './none'" in text
    assert "own.js:1:9: the Node.js module `child_process` is not available to scripts" in text
    assert "optional" not in text
    assert "later" not in text


def test_missing_imports_of_a_module_are_all_named(loadline):
    code = "import 'left-pad';\nimport zlib from 'node:zlib';\nexport const f = () => {};\n"
    done = run(loadline, code, REST, processor="helpers.mjs")
    assert "2 modules cannot be loaded:" in done.stderr, done.stderr
    assert "helpers.mjs:1:8: Cannot find module 'left-pad'" in done.stderr
    assert "helpers.mjs:2:18: the Node.js module `zlib` is not available to scripts" in done.stderr


def test_another_error_is_reported_although_modules_are_missing(loadline):
    """What is required later may never be needed."""
    code = "if (false) { require('left-pad'); require('right-pad'); }\nthrow new Error('no settings');\n"
    done = run(loadline, code, REST)
    assert done.code == 11
    assert "helpers.js:2:" in done.stderr
    assert "Error: no settings" in done.stderr
    assert "modules cannot be loaded" not in done.stderr
