//! WHAT an answer holds: the small languages in which test scripts ask a value something - paths into variables, JSONPath, CSS
//! selectors, XPath, JMESPath, regular expressions, filtrex's conditions - and the JavaScript values that they answer with.
//!
//! Pure functions over text and values. This crate knows no request, no plan and no run; it does no I/O, reads no clock, and has
//! no randomness of its own: where a language asks for some, the caller brings it ([`Chance`]).

#![forbid(unsafe_code)]

mod chance;
mod cursor;
pub mod filtrex;
pub mod jmespath;
pub mod jsonpath;
pub mod markup;
pub mod path;
pub mod regexp;
mod scope;
pub mod value;

pub use chance::Chance;
pub use cursor::Misread;
pub use scope::Scope;
