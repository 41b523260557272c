//! LuaJIT's C interface behind one that is safe to call: a state, values that cross its border, protected calls, functions of
//! ours that scripts may call. It knows nothing of wrk.

#![allow(
    unsafe_code,
    reason = "the one module of this crate that may; each use gives its SAFETY reason"
)]

use std::{
    borrow::Cow,
    ffi::{CStr, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
};

use mlua_sys as sys;
use sys::lua_State;

/// A value on its way into or out of a state.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `nil`
    Nil,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string of any bytes.
    Text(Vec<u8>),
    /// A table's pairs.
    Table(Vec<(Value, Value)>),
    /// Something that cannot cross the border: its type.
    Other(String),
}

impl Value {
    /// A string.
    pub fn text(text: &str) -> Value {
        Value::Text(text.as_bytes().to_vec())
    }

    /// The string, if it is one (numbers are not).
    pub fn as_text(&self) -> Option<String> {
        match self {
            Value::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }
}

/// A function of ours that scripts may call. It is told which state calls.
pub type Function = Box<dyn Fn(&State, Vec<Value>) -> Result<Vec<Value>, String> + Send>;

/// A header's name, and its value, which is not borrowed where several lines make it up.
pub type Header<'a> = (&'a [u8], Cow<'a, [u8]>);

/// A value kept inside a state.
#[derive(Debug, Clone, Copy)]
pub struct Kept(c_int);

/// A Lua state. It is never closed: its scripts may have started what only the process's end ends, and wrk does not either.
#[derive(Debug)]
pub struct State(*mut lua_State);

// SAFETY: a state is used by whoever has it, and nobody can have it twice: it is not `Clone`, every method borrows it, and the
// borrowed states that functions of ours are given do not outlive the call on the same thread.
unsafe impl Send for State {}

/// Tables within tables are carried so far.
const DEPTH: u32 = 100;

impl State {
    /// A new state with all standard libraries; none: out of memory.
    pub fn new() -> Option<State> {
        // SAFETY: no preconditions; a null pointer is turned away before use.
        unsafe {
            let raw = sys::luaL_newstate();
            if raw.is_null() {
                return None;
            }
            sys::luaL_openlibs(raw);
            Some(State(raw))
        }
    }

    /// Runs a file.
    pub fn run_file(&self, path: &CStr) -> Result<(), String> {
        // SAFETY: the path ends in a null; the function that loading pushed is what the call takes.
        unsafe {
            if sys::luaL_loadfile(self.0, path.as_ptr()) != sys::LUA_OK {
                return Err(self.pop_error());
            }
            self.protected(0, 0)
        }
    }

    /// A table of functions of ours by name, with a value beside them. The functions live as long as the process.
    pub fn functions(
        &self,
        functions: Vec<(&'static CStr, Function)>,
        beside: (&'static CStr, &Value),
    ) -> Kept {
        // SAFETY: the pointers come from boxes that are leaked, so that no call ever finds them gone; names end in nulls.
        unsafe {
            sys::lua_newtable(self.0);
            self.push(beside.1);
            sys::lua_setfield(self.0, -2, beside.0.as_ptr());
            for (name, function) in functions {
                let leaked: &'static mut Function = Box::leak(Box::new(function));
                sys::lua_pushlightuserdata(self.0, std::ptr::from_mut(leaked).cast::<c_void>());
                sys::lua_pushcclosure(self.0, call_ours, 1);
                sys::lua_setfield(self.0, -2, name.as_ptr());
            }
            self.keep()
        }
    }

    /// Keeps a field of a kept table.
    pub fn field(&self, table: Kept, name: &CStr) -> Kept {
        // SAFETY: as in `call`.
        unsafe {
            sys::lua_rawgeti(self.0, sys::LUA_REGISTRYINDEX, table.0.into());
            sys::lua_getfield(self.0, -1, name.as_ptr());
            sys::lua_remove(self.0, -2);
            self.keep()
        }
    }

    /// Keeps the name of a global, so that asking for it costs no new string.
    pub fn key(&self, name: &str) -> Kept {
        self.push(&Value::text(name));
        self.keep()
    }

    /// Calls a field of a kept table; answers so many results.
    pub fn call(
        &self,
        table: Kept,
        field: &CStr,
        arguments: &[Value],
        results: c_int,
    ) -> Result<Vec<Value>, String> {
        // SAFETY: kept values are in the registry as long as the state lives; the tables that fields are taken of are ours, without
        // metatables, so that taking them runs no code; the stack is left as it was found.
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

    /// The value of a global, in the way in which a script would see it.
    pub fn get_global(&self, name: &str) -> Value {
        self.push(&Value::text(name));
        // SAFETY: one value is taken off and one put on; read without running code.
        unsafe {
            sys::lua_rawget(self.0, sys::LUA_GLOBALSINDEX);
            let value = self.value(sys::lua_gettop(self.0), DEPTH);
            sys::lua_pop(self.0, 1);
            value
        }
    }

    /// Sets a global.
    pub fn set_global(&self, name: &str, value: &Value) {
        self.push(&Value::text(name));
        self.push(value);
        // SAFETY: name and value are on the stack and taken off; set without running code.
        unsafe { sys::lua_rawset(self.0, sys::LUA_GLOBALSINDEX) };
    }

    /// Calls a global function that answers bytes; without such a function the kept one instead. The bytes replace what is in
    /// `out`; of nothing that is text there are none.
    #[inline]
    pub fn bytes(&self, name: Kept, instead: Kept, out: &mut Vec<u8>) -> Result<(), String> {
        // SAFETY: as in `call`; the text's pointer is used before its value leaves the stack.
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

    /// Calls a global function that answers a number; 0 where it answers something else, or there is no such function.
    pub fn number(&self, name: Kept) -> Result<f64, String> {
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

    /// What tells one global function from another; none: it is no function.
    #[inline]
    pub fn identity(&self, name: Kept) -> Option<usize> {
        // SAFETY: the pointer is only compared, never followed.
        unsafe {
            self.push_function(name).then(|| {
                let pointer = sys::lua_topointer(self.0, -1);
                sys::lua_pop(self.0, 1);
                pointer.addr()
            })
        }
    }

    /// Calls a global function with a number, and perhaps a table of texts and a text.
    pub fn tell<'a>(
        &self,
        name: Kept,
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

    /// Puts a global on the stack if it is a function.
    #[inline]
    unsafe fn push_function(&self, name: Kept) -> bool {
        // SAFETY: the kept name is in the registry; globals are read without running code.
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
        // SAFETY: the caller has pushed a function and so many arguments.
        unsafe {
            if sys::lua_pcall(self.0, arguments, results, 0) == sys::LUA_OK {
                Ok(())
            } else {
                Err(self.pop_error())
            }
        }
    }

    /// Runs a text with a kept value as its argument; keeps what it returns.
    pub fn run_with(&self, name: &CStr, text: &str, argument: Kept) -> Result<Kept, String> {
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

    /// Takes the top of the stack into the registry.
    fn keep(&self) -> Kept {
        // SAFETY: every caller has a value on top of the stack.
        Kept(unsafe { sys::luaL_ref(self.0, sys::LUA_REGISTRYINDEX) })
    }

    /// What went wrong; what is no text is `?`, as LuaJIT says it.
    #[cold]
    fn pop_error(&self) -> String {
        // SAFETY: a call that failed has left its error on top of the stack.
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
        // SAFETY: pointer and length belong together; the bytes are copied.
        unsafe {
            sys::lua_pushlstring(self.0, bytes.as_ptr().cast(), bytes.len());
        }
    }

    fn push(&self, value: &Value) {
        // SAFETY: pushes one value each; a table's pairs are set without running code. The stack is made large enough first.
        unsafe {
            sys::lua_checkstack(self.0, 4);
            match value {
                Value::Nil | Value::Other(_) => sys::lua_pushnil(self.0),
                Value::Bool(b) => sys::lua_pushboolean(self.0, c_int::from(*b)),
                Value::Number(n) => sys::lua_pushnumber(self.0, *n),
                Value::Text(bytes) => self.push_bytes(bytes),
                Value::Table(pairs) => {
                    sys::lua_newtable(self.0);
                    for (key, value) in pairs.iter().filter(|(key, _)| *key != Value::Nil) {
                        self.push(key);
                        self.push(value);
                        sys::lua_rawset(self.0, -3);
                    }
                }
            }
        }
    }

    fn value(&self, index: c_int, depth: u32) -> Value {
        // SAFETY: the index is that of a value on the stack; walking a table leaves the stack as it was, and keys are never
        // turned into strings in place, which would confuse the walk.
        unsafe {
            match sys::lua_type(self.0, index) {
                sys::LUA_TNIL | sys::LUA_TNONE => Value::Nil,
                sys::LUA_TBOOLEAN => Value::Bool(sys::lua_toboolean(self.0, index) != 0),
                sys::LUA_TNUMBER => Value::Number(sys::lua_tonumber(self.0, index)),
                sys::LUA_TSTRING => {
                    let mut length = 0;
                    let text = sys::lua_tolstring(self.0, index, &raw mut length);
                    Value::Text(std::slice::from_raw_parts(text.cast(), length).to_vec())
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
                    Value::Table(pairs)
                }
                other => {
                    let name = CStr::from_ptr(sys::lua_typename(self.0, other));
                    Value::Other(name.to_string_lossy().into_owned())
                }
            }
        }
    }
}

/// Calls a function of ours from a script.
unsafe extern "C-unwind" fn call_ours(raw: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with its own state and the arguments on its stack. The upvalue is a leaked box of `functions`. The
    // borrowed state lives for this call only. Errors are raised when nothing of ours is left to be dropped.
    unsafe {
        let results = {
            let function = &*sys::lua_touserdata(raw, sys::lua_upvalueindex(1)).cast::<Function>();
            let state = State(raw);
            let arguments: Vec<Value> = (1..=sys::lua_gettop(raw))
                .map(|index| state.value(index, DEPTH))
                .collect();
            let called = catch_unwind(AssertUnwindSafe(|| function(&state, arguments)));
            let called = called.unwrap_or_else(|_| Err("a fault of Loadline's own".to_owned()));
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

/// Has what scripts print go to standard error from now on, where standard output is somebody's who expects other bytes there: scripts print
/// through C's buffers, whatever else writes.
///
/// # Errors
/// When the system refuses.
pub fn print_to_stderr() -> std::io::Result<()> {
    // SAFETY: two numbers that every process has; nothing that is borrowed is closed, standard output only leads elsewhere.
    match unsafe { dup2(2, 1) } {
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Writes out what scripts have printed so far: they print through C's buffers, we do not.
pub fn flush_output() {
    // SAFETY: a null pointer means every open stream; the C library locks each of them.
    unsafe { fflush(std::ptr::null_mut()) };
}
