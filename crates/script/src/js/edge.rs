//! Access to memory of the JavaScript engine.

#![allow(unsafe_code)]

use rquickjs::TypedArray;

/// Copies the content of a `Uint8Array`. Empty if its buffer was detached.
pub fn bytes(array: &TypedArray<'_, u8>) -> Vec<u8> {
    // SAFETY: the slice is copied before any JavaScript can run.
    unsafe { array.as_bytes() }.map_or_else(Vec::new, <[u8]>::to_vec)
}
