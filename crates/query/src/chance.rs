//! Random numbers for query languages, which the caller supplies.

pub trait Chance {
    fn unit(&mut self) -> f64;

    fn below(&mut self, n: u64) -> u64;
}

impl Chance for base::rng::Rng {
    fn unit(&mut self) -> f64 {
        base::rng::Rng::unit(self)
    }

    fn below(&mut self, n: u64) -> u64 {
        base::rng::Rng::below(self, n)
    }
}

#[cfg(test)]
#[derive(Clone)]
pub(crate) struct Dealt(pub u64);

#[cfg(test)]
impl Chance for Dealt {
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.unit() * n as f64) as u64
    }
}
