pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + self.unit() * (high - low)
    }

    pub fn whole_number(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    pub fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    pub fn times(&mut self, n: usize, base: f64) -> Vec<f64> {
        let spread = self.between(0.01, 1.5);
        let outliers = self.between(0.0, 0.1);
        let time = |rng: &mut Rng| {
            let tail = -(1.0 - rng.unit()).ln() * spread;
            let jump = if rng.unit() < outliers {
                rng.between(2.0, 30.0)
            } else {
                1.0
            };
            base * (0.5 + tail) * jump
        };
        (0..n).map(|_| time(self)).collect()
    }
}

#[derive(Clone)]
pub struct Samples(pub Vec<f64>);

impl Samples {
    pub fn new(mut samples: Vec<f64>) -> Samples {
        samples.sort_by(f64::total_cmp);
        Samples(samples)
    }

    pub fn n(&self) -> usize {
        self.0.len()
    }

    pub fn min(&self) -> f64 {
        self.0[0]
    }

    pub fn max(&self) -> f64 {
        self.0[self.n() - 1]
    }

    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.n() as f64
    }

    pub fn stdev(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|x| (x - mean) * (x - mean)).sum();
        (squares / (self.n() as f64 - 1.0).max(1.0)).sqrt()
    }

    pub fn within(&self) -> f64 {
        let (mean, stdev) = (self.mean(), self.stdev());
        let is_near = |x: &&f64| (**x - mean).abs() <= stdev;
        self.0.iter().filter(is_near).count() as f64 / self.n() as f64
    }

    pub fn percentile(&self, percent: f64) -> f64 {
        let rank = (percent / 100.0 * self.n() as f64 + 0.5).round() as usize;
        self.0[rank.clamp(1, self.n()) - 1]
    }

    pub fn sketched(&self, q: f64) -> f64 {
        let rank = (q * (self.n() as f64 - 1.0)) as usize;
        let value = self.0[rank.min(self.n() - 1)];
        if value <= 0.0 {
            return 0.0;
        }
        let gamma: f64 = 1.01 / 0.99;
        let key = (value.ln() / gamma.ln()).ceil();
        gamma.powf(key) * 2.0 / (1.0 + gamma)
    }

    pub fn bucketed(&self, q: f64) -> f64 {
        let rank = (q * self.n() as f64) as usize;
        bucket(self.0[rank.min(self.n() - 1)])
    }
}

pub fn bucket(ms: f64) -> f64 {
    let unit = match ms {
        _ if ms < 100.0 => 1.0,
        _ if ms < 1_000.0 => 10.0,
        _ if ms < 10_000.0 => 100.0,
        _ => 1_000.0,
    };
    (ms / unit).round_ties_even() * unit
}

pub fn decimal(value: f64) -> String {
    let text = format!("{:.1}", (value * 10.0).round() / 10.0);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
