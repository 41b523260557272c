//! Huffman coding of HPACK (RFC 7541, appendix B).
//!
//! The code is canonical, so the code lengths define it. The decoder consumes four bits per step
//! and uses a state table.

use super::HpackError;

/// Code lengths of all bytes and of the end-of-string symbol.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];
const SYMBOLS: usize = 257;
const END_OF_STRING: usize = 256;
const LONGEST: u8 = 30;

const CODES: [u32; SYMBOLS] = canonical_codes();

const fn canonical_codes() -> [u32; SYMBOLS] {
    let mut codes = [0; SYMBOLS];
    let (mut code, mut length) = (0_u32, 1);
    while length <= LONGEST {
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] == length {
                codes[symbol] = code;
                code += 1;
            }
            symbol += 1;
        }
        code <<= 1;
        length += 1;
    }
    codes
}

/// The effect of four bits in a state.
#[derive(Clone, Copy)]
struct Transition {
    next: u8,
    symbol: u8,
    flags: u8,
}

/// The bits complete the code of `symbol`.
const EMITS: u8 = 1;
/// The string may end here: the bits after the last code are a prefix of the end-of-string code.
const MAY_END: u8 = 2;
/// The bits contain the end-of-string code, which is invalid.
const INVALID: u8 = 4;

/// Number of states: the inner nodes of a binary tree with 257 leaves.
const STATES: usize = SYMBOLS - 1;

/// The children of an inner node. A child is an inner node, or a leaf as `STATES + symbol`.
type Tree = [[u16; 2]; STATES];

const fn tree() -> Tree {
    const NONE: u16 = u16::MAX;
    let mut tree = [[NONE; 2]; STATES];
    let (mut nodes, mut symbol) = (1, 0);
    while symbol < SYMBOLS {
        let (mut node, mut bit) = (0, LENGTHS[symbol]);
        while bit > 0 {
            bit -= 1;
            let side = (CODES[symbol] >> bit & 1) as usize;
            if bit == 0 {
                tree[node][side] = (STATES + symbol) as u16;
            } else {
                if tree[node][side] == NONE {
                    tree[node][side] = nodes;
                    nodes += 1;
                }
                node = tree[node][side] as usize;
            }
        }
        symbol += 1;
    }
    tree
}

const fn transitions() -> [[Transition; 16]; STATES] {
    let tree = tree();
    let may_end = accepting(&tree);
    let mut table = [[Transition {
        next: 0,
        symbol: 0,
        flags: 0,
    }; 16]; STATES];
    let mut state = 0;
    while state < STATES {
        let mut bits = 0;
        while bits < 16 {
            let (mut node, mut symbol, mut flags, mut bit) = (state, 0, 0, 4);
            while bit > 0 {
                bit -= 1;
                let child = tree[node][bits >> bit & 1] as usize;
                node = child;
                if child >= STATES {
                    node = 0;
                    if child == STATES + END_OF_STRING {
                        flags |= INVALID;
                    } else {
                        // The shortest code has five bits, so four bits complete at most one code.
                        symbol = (child - STATES) as u8;
                        flags |= EMITS;
                    }
                }
            }
            if may_end[node] {
                flags |= MAY_END;
            }
            table[state][bits] = Transition {
                next: node as u8,
                symbol,
                flags,
            };
            bits += 1;
        }
        state += 1;
    }
    table
}

/// Returns the states in which a string may end: after at most seven bits of padding, all ones.
const fn accepting(tree: &Tree) -> [bool; STATES] {
    let mut may_end = [false; STATES];
    let (mut node, mut depth) = (0, 0);
    while depth <= 7 {
        may_end[node] = true;
        node = tree[node][1] as usize;
        depth += 1;
    }
    may_end
}

static TRANSITIONS: [[Transition; 16]; STATES] = transitions();

/// Appends the decoded string to `out`. Fails on an invalid code or padding.
///
/// The result is at most 8/5 as long as `bytes`. If it would exceed `most` bytes, fails with
/// [`HpackError::ListTooLarge`] before appending more.
#[inline]
pub fn decode(bytes: &[u8], most: usize, out: &mut Vec<u8>) -> Result<(), HpackError> {
    let end = out.len().saturating_add(most);
    let (mut state, mut flags) = (0_usize, MAY_END);
    for byte in bytes {
        for bits in [byte >> 4, byte & 15] {
            let step = TRANSITIONS[state][usize::from(bits)];
            if step.flags & EMITS != 0 {
                if out.len() >= end {
                    return Err(HpackError::ListTooLarge);
                }
                out.push(step.symbol);
            }
            if step.flags & INVALID != 0 {
                return Err(HpackError::Huffman);
            }
            (state, flags) = (usize::from(step.next), step.flags);
        }
    }
    if flags & MAY_END == 0 {
        return Err(HpackError::Huffman);
    }
    Ok(())
}

/// Returns the length of the encoded string in bytes.
#[must_use]
pub fn encoded_len(bytes: &[u8]) -> usize {
    let bits = |byte: &u8| usize::from(LENGTHS[usize::from(*byte)]);
    bytes.iter().map(bits).sum::<usize>().div_ceil(8)
}

/// Appends the encoded string to `out`.
pub fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let (mut pending, mut count) = (0_u64, 0);
    for byte in bytes {
        let symbol = usize::from(*byte);
        let length = u32::from(LENGTHS[symbol]);
        pending = pending << length | u64::from(CODES[symbol]);
        count += length;
        while count >= 8 {
            count -= 8;
            out.push((pending >> count) as u8);
        }
    }
    if count > 0 {
        let padding = 8 - count;
        out.push((pending << padding) as u8 | ((1_u16 << padding) - 1) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(bytes: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut out = Vec::new();
        decode(bytes, usize::MAX, &mut out).map(|()| out)
    }

    #[test]
    fn codes_match_the_appendix() {
        let code = |symbol: usize| (CODES[symbol], LENGTHS[symbol]);
        assert_eq!(code(0), (0x1ff8, 13));
        assert_eq!(code(usize::from(b'a')), (0x3, 5));
        assert_eq!(code(usize::from(b'Z')), (0xfd, 8));
        assert_eq!(code(255), (0x3ff_ffee, 26));
        assert_eq!(code(END_OF_STRING), (0x3fff_ffff, 30));
    }

    #[test]
    fn invalid_padding_is_refused() {
        assert_eq!(decoded(&[0b0001_1111]), Ok(b"a".to_vec()));
        assert_eq!(decoded(&[0b0001_1110]), Err(HpackError::Huffman));
        assert_eq!(
            decoded(&[0b0001_1111, 0xff]),
            Err(HpackError::Huffman),
            "a byte of padding"
        );
        assert_eq!(decoded(&[0xff]), Err(HpackError::Huffman));
        assert_eq!(decoded(&[]), Ok(Vec::new()));
    }

    #[test]
    fn end_of_string_is_refused() {
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), Err(HpackError::Huffman));
        assert_eq!(
            decoded(&[0xff, 0xff, 0xff, 0xfc, 0x1f]),
            Err(HpackError::Huffman)
        );
    }

    #[test]
    fn output_is_bounded_while_decoding() {
        let mut encoded = Vec::new();
        encode(&[b'0'; 100], &mut encoded);
        let mut out = Vec::new();
        assert_eq!(
            decode(&encoded, 99, &mut out),
            Err(HpackError::ListTooLarge)
        );
        assert_eq!(out.len(), 99);
        assert_eq!(decode(&encoded, 100, &mut Vec::new()), Ok(()));
    }

    proptest! {
        #[test]
        fn strings_are_restored(bytes: Vec<u8>) {
            let mut out = Vec::new();
            encode(&bytes, &mut out);
            prop_assert_eq!(out.len(), encoded_len(&bytes));
            prop_assert_eq!(decoded(&out), Ok(bytes));
        }

        #[test]
        fn valid_codes_are_encoded_as_the_same_bytes(bytes: Vec<u8>) {
            if let Ok(string) = decoded(&bytes) {
                let mut again = Vec::new();
                encode(&string, &mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
