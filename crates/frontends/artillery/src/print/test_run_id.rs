//! Identifier of a test run: `t`, 4 characters, `_`, 29 characters, `_`, 4 characters.

const ALPHABET: &[u8; 27] = b"3456789abcdefghjkmnpqrtwxyz";

pub fn test_run_id(mut bits: impl FnMut() -> u64) -> String {
    let mut characters = |n: usize| -> String {
        let letter = |_| char::from(ALPHABET[(bits() % ALPHABET.len() as u64) as usize]);
        (0..n).map(letter).collect()
    };
    format!("t{}_{}_{}", characters(4), characters(29), characters(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_an_identifier() {
        let mut n = 0;
        let id = test_run_id(|| {
            n += 1;
            n
        });
        assert_eq!(id.split('_').map(str::len).collect::<Vec<_>>(), [5, 29, 4]);
        assert!(
            id.starts_with('t') && id.bytes().all(|c| c == b'_' || ALPHABET.contains(&c)),
            "{id}"
        );
    }
}
