//! Safe interface to LuaJIT: states, values, protected calls, and Rust functions that scripts can
//! call.

#![allow(
    unsafe_code,
    reason = "the only module of this crate with unsafe code; each use has a SAFETY comment"
)]

use std::{
    borrow::Cow,
    ffi::{CStr, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
};

use mlua_sys as sys;
use sys::lua_State;

#[derive(Debug, Clone, PartialEq)]
pub enum LuaValue {
    Nil,
    Bool(bool),
    Number(f64),
    Text(Vec<u8>),
    Table(Vec<(LuaValue, LuaValue)>),
    Other(String),
}

impl LuaValue {
    pub fn text(text: &str) -> LuaValue {
        LuaValue::Text(text.as_bytes().to_vec())
    }

    pub fn as_text(&self) -> Option<String> {
        match self {
            LuaValue::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }
}

pub type Function = Box<dyn Fn(&LuaState, Vec<LuaValue>) -> Result<Vec<LuaValue>, String> + Send>;

/// Name and value of a header. The value is owned if it spans several lines.
pub type Header<'a> = (&'a [u8], Cow<'a, [u8]>);

#[derive(Debug, Clone, Copy)]
pub struct LuaRef(c_int);

/// A Lua state. As in wrk, it is never closed, because a script may have started work that only the
/// end of the process stops.
#[derive(Debug)]
pub struct LuaState(*mut lua_State);

// SAFETY: a state has one owner: it is not `Clone`, every method borrows it, and borrowed states
// passed to our functions do not outlive the call on the same thread.
unsafe impl Send for LuaState {}

const DEPTH: u32 = 100;

impl LuaState {
    /// Creates a state with all standard libraries. Returns `None` if memory is exhausted.
    pub fn new() -> Option<LuaState> {
        // SAFETY: there are no preconditions, and a null pointer is rejected before use.
        unsafe {
            let raw = sys::luaL_newstate();
            if raw.is_null() {
                return None;
            }
            sys::luaL_openlibs(raw);
            Some(LuaState(raw))
        }
    }

    pub fn run_file(&self, path: &CStr) -> Result<(), String> {
        // SAFETY: the path ends in a null byte, and the call consumes the function that loading
        // pushed.
        unsafe {
            if sys::luaL_loadfile(self.0, path.as_ptr()) != sys::LUA_OK {
                return Err(self.pop_error());
            }
            self.protected(0, 0)
        }
    }

    /// Creates a Lua table that maps names to Rust functions and stores `value` under `field`. The
    /// functions are never freed.
    pub fn functions(
        &self,
        functions: Vec<(&'static CStr, Function)>,
        field: &'static CStr,
        value: &LuaValue,
    ) -> LuaRef {
        // SAFETY: the pointers come from leaked boxes and stay valid, and names end in null bytes.
        unsafe {
            sys::lua_newtable(self.0);
            self.push(value);
            sys::lua_setfield(self.0, -2, field.as_ptr());
            for (name, function) in functions {
                let leaked: &'static mut Function = Box::leak(Box::new(function));
                sys::lua_pushlightuserdata(self.0, std::ptr::from_mut(leaked).cast::<c_void>());
                sys::lua_pushcclosure(self.0, call_ours, 1);
                sys::lua_setfield(self.0, -2, name.as_ptr());
            }
            self.keep()
        }
    }

    pub fn field(&self, table: LuaRef, name: &CStr) -> LuaRef {
        // SAFETY: as in `call`.
        unsafe {
            sys::lua_rawgeti(self.0, sys::LUA_REGISTRYINDEX, table.0.into());
            sys::lua_getfield(self.0, -1, name.as_ptr());
            sys::lua_remove(self.0, -2);
            self.keep()
        }
    }

    pub fn key(&self, name: &str) -> LuaRef {
        self.push(&LuaValue::text(name));
        self.keep()
    }

    /// Calls a field of a kept table. Returns `results` values.
    pub fn call(
        &self,
        table: LuaRef,
        field: &CStr,
        arguments: &[LuaValue],
        results: c_int,
    ) -> Result<Vec<LuaValue>, String> {
        // SAFETY: kept values are in the registry as long as the state lives. Reading fields of our
        // tables runs no code, because they have no metatables. The stack is restored.
        unsafe {
            let top = sys::lua_gettop(self.0);
            sys::lua_rawgeti(self.0, sys::LUA_REGISTRYINDEX, table.0.into());
            sys::lua_getfield(self.0, -1, field.as_ptr());
            sys::lua_remove(self.0, -2);
            arguments.iter().for_each(|argument| self.push(argument));
            self.protected(arguments.len() as c_int, results)?;
            let values = (1..=results).map(|i| self.value(top + i, DEPTH)).collect();
            sys::lua_settop(self.0, top);
            Ok(values)
        }
    }

    pub fn get_global(&self, name: &str) -> LuaValue {
        self.push(&LuaValue::text(name));
        // SAFETY: the call replaces one value on the stack. Raw reads run no Lua code.
        unsafe {
            sys::lua_rawget(self.0, sys::LUA_GLOBALSINDEX);
            let value = self.value(sys::lua_gettop(self.0), DEPTH);
            sys::lua_pop(self.0, 1);
            value
        }
    }

    pub fn set_global(&self, name: &str, value: &LuaValue) {
        self.push(&LuaValue::text(name));
        self.push(value);
        // SAFETY: the call takes name and value from the stack. Raw writes run no Lua code.
        unsafe { sys::lua_rawset(self.0, sys::LUA_GLOBALSINDEX) };
    }

    /// Calls a global function that returns bytes, or `instead` if the function does not exist. The
    /// bytes replace `out`, which stays empty for other results.
    #[inline]
    pub fn bytes(&self, name: LuaRef, instead: LuaRef, out: &mut Vec<u8>) -> Result<(), String> {
        // SAFETY: as in `call`. The text's pointer is used before its value leaves the stack.
        unsafe {
            if !self.push_function(name) {
                sys::lua_rawgeti(self.0, sys::LUA_REGISTRYINDEX, instead.0.into());
            }
            self.protected(0, 1)?;
            let mut length = 0;
            let text = sys::lua_tolstring(self.0, -1, &raw mut length);
            out.clear();
            if !text.is_null() {
                out.extend_from_slice(std::slice::from_raw_parts(text.cast(), length));
            }
            sys::lua_pop(self.0, 1);
            Ok(())
        }
    }

    /// Calls a global function that returns a number. Returns 0 for other results, or if the
    /// function does not exist.
    pub fn number(&self, name: LuaRef) -> Result<f64, String> {
        // SAFETY: as in `bytes`.
        unsafe {
            if !self.push_function(name) {
                return Ok(0.0);
            }
            self.protected(0, 1)?;
            let number = sys::lua_tonumber(self.0, -1);
            sys::lua_pop(self.0, 1);
            Ok(number)
        }
    }

    /// Returns the identity of a global function, by which changes can be detected. `None` if the
    /// global is not a function.
    #[inline]
    pub fn identity(&self, name: LuaRef) -> Option<usize> {
        // SAFETY: the pointer is only compared, never dereferenced.
        unsafe {
            self.push_function(name).then(|| {
                let pointer = sys::lua_topointer(self.0, -1);
                sys::lua_pop(self.0, 1);
                pointer.addr()
            })
        }
    }

    pub fn call_response<'a>(
        &self,
        name: LuaRef,
        number: u16,
        table: Option<&mut dyn Iterator<Item = Header<'a>>>,
        text: Option<&[u8]>,
    ) -> Result<(), String> {
        // SAFETY: as in `call`.
        unsafe {
            if !self.push_function(name) {
                return Ok(());
            }
            sys::lua_pushinteger(self.0, number.into());
            let mut count = 1;
            if let Some(table) = table {
                sys::lua_newtable(self.0);
                for (name, value) in table {
                    self.push_bytes(name);
                    self.push_bytes(&value);
                    sys::lua_rawset(self.0, -3);
                }
                count += 1;
            }
            if let Some(text) = text {
                self.push_bytes(text);
                count += 1;
            }
            self.protected(count, 0)
        }
    }

    #[inline]
    unsafe fn push_function(&self, name: LuaRef) -> bool {
        // SAFETY: the kept name is in the registry, and globals are read without running code.
        unsafe {
            sys::lua_rawgeti(self.0, sys::LUA_REGISTRYINDEX, name.0.into());
            sys::lua_rawget(self.0, sys::LUA_GLOBALSINDEX);
            let is_function = sys::lua_isfunction(self.0, -1) != 0;
            if !is_function {
                sys::lua_pop(self.0, 1);
            }
            is_function
        }
    }

    #[inline]
    unsafe fn protected(&self, arguments: c_int, results: c_int) -> Result<(), String> {
        // SAFETY: the caller has pushed a function and this number of arguments.
        unsafe {
            if sys::lua_pcall(self.0, arguments, results, 0) == sys::LUA_OK {
                Ok(())
            } else {
                Err(self.pop_error())
            }
        }
    }

    pub fn run_with(&self, name: &CStr, text: &str, argument: LuaRef) -> Result<LuaRef, String> {
        // SAFETY: as in `run`.
        unsafe {
            let code =
                sys::luaL_loadbuffer(self.0, text.as_ptr().cast(), text.len(), name.as_ptr());
            if code != sys::LUA_OK {
                return Err(self.pop_error());
            }
            sys::lua_rawgeti(self.0, sys::LUA_REGISTRYINDEX, argument.0.into());
            self.protected(1, 1)?;
            Ok(self.keep())
        }
    }

    fn keep(&self) -> LuaRef {
        // SAFETY: every caller has a value on top of the stack.
        LuaRef(unsafe { sys::luaL_ref(self.0, sys::LUA_REGISTRYINDEX) })
    }

    /// Returns the error message, or `?` if the error is not a string, as in LuaJIT.
    #[cold]
    fn pop_error(&self) -> String {
        // SAFETY: a failed call leaves its error on top of the stack.
        unsafe {
            let mut length = 0;
            let text = sys::lua_tolstring(self.0, -1, &raw mut length);
            let text = if text.is_null() {
                "?".to_owned()
            } else {
                let bytes = std::slice::from_raw_parts(text.cast(), length);
                String::from_utf8_lossy(bytes).into_owned()
            };
            sys::lua_pop(self.0, 1);
            text
        }
    }

    fn push_bytes(&self, bytes: &[u8]) {
        // SAFETY: pointer and length belong together, and Lua copies the bytes.
        unsafe {
            sys::lua_pushlstring(self.0, bytes.as_ptr().cast(), bytes.len());
        }
    }

    fn push(&self, value: &LuaValue) {
        // SAFETY: each call pushes one value. Pairs of a table are set without running code. The
        // stack is grown first.
        unsafe {
            sys::lua_checkstack(self.0, 4);
            match value {
                LuaValue::Nil | LuaValue::Other(_) => sys::lua_pushnil(self.0),
                LuaValue::Bool(b) => sys::lua_pushboolean(self.0, c_int::from(*b)),
                LuaValue::Number(n) => sys::lua_pushnumber(self.0, *n),
                LuaValue::Text(bytes) => self.push_bytes(bytes),
                LuaValue::Table(pairs) => {
                    sys::lua_newtable(self.0);
                    for (key, value) in pairs.iter().filter(|(key, _)| *key != LuaValue::Nil) {
                        self.push(key);
                        self.push(value);
                        sys::lua_rawset(self.0, -3);
                    }
                }
            }
        }
    }

    fn value(&self, index: c_int, depth: u32) -> LuaValue {
        // SAFETY: the index refers to a value on the stack. Iterating restores the stack. Keys are
        // never converted to strings in place, which would break the iteration.
        unsafe {
            match sys::lua_type(self.0, index) {
                sys::LUA_TNIL | sys::LUA_TNONE => LuaValue::Nil,
                sys::LUA_TBOOLEAN => LuaValue::Bool(sys::lua_toboolean(self.0, index) != 0),
                sys::LUA_TNUMBER => LuaValue::Number(sys::lua_tonumber(self.0, index)),
                sys::LUA_TSTRING => {
                    let mut length = 0;
                    let text = sys::lua_tolstring(self.0, index, &raw mut length);
                    LuaValue::Text(std::slice::from_raw_parts(text.cast(), length).to_vec())
                }
                sys::LUA_TTABLE if depth > 0 => {
                    let mut pairs = Vec::new();
                    sys::lua_checkstack(self.0, 4);
                    sys::lua_pushnil(self.0);
                    while sys::lua_next(self.0, index) != 0 {
                        let top = sys::lua_gettop(self.0);
                        pairs.push((self.value(top - 1, depth - 1), self.value(top, depth - 1)));
                        sys::lua_pop(self.0, 1);
                    }
                    LuaValue::Table(pairs)
                }
                other => {
                    let name = CStr::from_ptr(sys::lua_typename(self.0, other));
                    LuaValue::Other(name.to_string_lossy().into_owned())
                }
            }
        }
    }
}

unsafe extern "C-unwind" fn call_ours(raw: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this function with its state and the arguments on the stack. The upvalue is
    // a leaked box of `functions`. The borrowed state lives only for this call. Errors are raised
    // after all Rust values are dropped.
    unsafe {
        let results = {
            let function = &*sys::lua_touserdata(raw, sys::lua_upvalueindex(1)).cast::<Function>();
            let state = LuaState(raw);
            let arguments: Vec<LuaValue> = (1..=sys::lua_gettop(raw))
                .map(|index| state.value(index, DEPTH))
                .collect();
            let called = catch_unwind(AssertUnwindSafe(|| function(&state, arguments)));
            let called = called.unwrap_or_else(|_| Err("an internal error in Loadline".to_owned()));
            match called {
                Ok(values) => {
                    values.iter().for_each(|value| state.push(value));
                    values.len() as c_int
                }
                Err(message) => {
                    sys::luaL_where(raw, 1);
                    state.push_bytes(message.as_bytes());
                    sys::lua_concat(raw, 2);
                    -1
                }
            }
        };
        if results < 0 {
            sys::lua_error(raw);
        }
        results
    }
}

unsafe extern "C" {
    fn fflush(stream: *mut c_void) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int;
}

/// Redirects standard output to standard error. Standard output is reserved, and scripts print to
/// it through C's buffers.
///
/// Fails if the system refuses.
pub fn print_to_stderr() -> std::io::Result<()> {
    // SAFETY: every process has the standard descriptors. They are redirected, and no borrowed
    // descriptor is closed.
    match unsafe { dup2(2, 1) } {
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

pub fn flush_output() {
    // SAFETY: a null pointer means every open stream, each of which the C library locks.
    unsafe { fflush(std::ptr::null_mut()) };
}
