//! MD5 for names, as in Pepeunit's load test. It is not used for security.

const SHIFTS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

pub(crate) fn hex(text: &str) -> String {
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0x80);
    while bytes.len() % 64 != 56 {
        bytes.push(0);
    }
    bytes.extend_from_slice(&(text.len() as u64 * 8).to_le_bytes());
    for block in bytes.chunks_exact(64) {
        let sum = rounds(state, block);
        for (of, with) in state.iter_mut().zip(sum) {
            *of = of.wrapping_add(with);
        }
    }
    let bytes = state.into_iter().flat_map(u32::to_le_bytes);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

fn rounds(state: [u32; 4], block: &[u8]) -> [u32; 4] {
    let word = |at: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&block[at * 4..at * 4 + 4]);
        u32::from_le_bytes(word)
    };
    let [mut a, mut b, mut c, mut d] = state;
    for step in 0..64usize {
        let (mixed, at) = match step / 16 {
            0 => (b & c | !b & d, step),
            1 => (d & b | !d & c, (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), 7 * step % 16),
        };
        // Integer part of 2³² times the absolute value of the sine.
        let constant = (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a
            .wrapping_add(mixed)
            .wrapping_add(constant)
            .wrapping_add(word(at));
        let turned = sum.rotate_left(SHIFTS[step / 16][step % 4]);
        (a, d, c, b) = (d, c, b, b.wrapping_add(turned));
    }
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_md5() {
        for (text, digest) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ] {
            assert_eq!(super::hex(text), digest);
        }
    }
}
