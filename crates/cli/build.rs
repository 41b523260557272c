//! LuaJIT's C interface stays visible in the binary, so that modules written in C can be loaded by scripts. Nothing else does: what is visible is
//! kept, called or not.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for names in ["lua_*", "luaL_*", "luaopen_*", "luaJIT_*"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={names}");
    }
}
