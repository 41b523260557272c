//! LuaJIT's C interface stays visible in the binary, so that modules written in C can be loaded by scripts.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-rdynamic");
}
