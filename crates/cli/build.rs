//! Exports LuaJIT's C interface, so that scripts can load C modules. Nothing else is exported,
//! because exported symbols are always linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // zig's linker exports all symbols or none.
    if std::env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zig")) {
        println!("cargo:rustc-link-arg-bins=-rdynamic");
        return;
    }
    for names in ["lua_*", "luaL_*", "luaopen_*", "luaJIT_*"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={names}");
    }
}
