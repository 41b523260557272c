//! Query languages of test scripts: variable paths, JSONPath, CSS selectors, XPath, JMESPath,
//! regular expressions and filtrex conditions, all on JavaScript values.
//!
//! The crate contains pure functions on text and values. Random choices use the caller's
//! [`Chance`].

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
