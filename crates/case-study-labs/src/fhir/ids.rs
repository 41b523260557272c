//! Resource IDs: reproducible UUIDs (version 4) derived from the seed and a number.

use lab::random::{mix, seed_or_fresh};

pub(super) struct Ids {
    seed: u64,
    drawn: u64,
}

impl Ids {
    pub(super) fn new(seed: u64, used: u64) -> Self {
        Self {
            seed: mix(seed_or_fresh(seed)),
            drawn: used,
        }
    }

    pub(super) fn draw(&mut self) -> String {
        let half = |n: u64| u128::from(mix(self.seed.wrapping_add(n)));
        let bits = half(2 * self.drawn) << 64 | half(2 * self.drawn + 1);
        self.drawn += 1;
        uuid_v4(bits)
    }
}

fn uuid_v4(bits: u128) -> String {
    let bits = bits & !(0xf << 76) | 4 << 76;
    let bits = bits & !(0b11 << 62) | 0b10 << 62;
    let hex = format!("{bits:032x}");
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_variant_follow_the_rfc() {
        assert_eq!(uuid_v4(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid_v4(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn a_seed_gives_one_row_and_no_id_twice() {
        let mut row = Ids::new(7, 0);
        let ids: Vec<_> = (0..1000).map(|_| row.draw()).collect();
        let mut resumed = Ids::new(7, 500);
        assert_eq!(resumed.draw(), ids[500]);
        assert_ne!(Ids::new(8, 0).draw(), ids[0]);
        assert_ne!(Ids::new(0, 0).draw(), Ids::new(0, 0).draw());
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }
}
