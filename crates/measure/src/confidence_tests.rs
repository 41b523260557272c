use super::*;

/// SplitMix64: tests of statistics need numbers that are the same every time.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.unit()).ln() * mean
    }
}

/// Response times of an exponential server with one line, Poisson arrivals, by second: (all, windows).
fn queue(seed: u64, load: f64, seconds: u64) -> (Histogram, Windows) {
    let mut random = Random(seed);
    let (mut all, mut windows) = (Histogram::<u64>::default(), Windows::default());
    let mut window = Histogram::<u64>::default();
    // Begun in the steady state: the first wait is drawn from its law.
    let mut free = if random.unit() < load {
        random.exponential(1.0 / (1000.0 * (1.0 - load)))
    } else {
        0.0
    };
    let (mut now, mut second) = (0.0, 1.0);
    while second <= seconds as f64 {
        now += random.exponential(1.0 / (1000.0 * load));
        while now > second {
            windows.push(&window);
            window.clear();
            second += 1.0;
        }
        free = f64::max(free, now) + random.exponential(0.001);
        let ns = ((free - now) * 1e9) as u64;
        window.record(ns);
        all.record(ns);
    }
    (all, windows)
}

#[test]
fn ranks_of_the_textbook() {
    // 95 % intervals as the k-th largest samples.
    for (q, n, lower, upper) in [
        (0.99, 1e3, 18.0, 4.0),
        (0.99, 1e4, 121.0, 81.0),
        (0.99, 1e5, 1063.0, 939.0),
        (0.999, 1e4, 18.0, 4.0),
        (0.999, 1e5, 121.0, 81.0),
    ] {
        let (least, most) = ranks(n, 1.0 - q, 0.025);
        assert!(
            (least - upper).abs() <= 1.0 && (most - lower).abs() <= 1.0,
            "p{q} of {n}: {most}..{least}"
        );
    }
    // The smallest samples that have an upper bound at all.
    for (q, n) in [(0.99, 368.0), (0.999, 3688.0)] {
        assert_eq!(ranks(n - 2.0, 1.0 - q, 0.025).0, 0.0);
        assert!(ranks(n + 2.0, 1.0 - q, 0.025).0 >= 1.0);
    }
}

#[test]
fn samples_that_decide_a_criterion() {
    // Early stopping with 99 % confidence: so many samples, so many of them over the limit.
    for (q, over, n) in [
        (0.9, 0, 44),
        (0.9, 10, 197),
        (0.99, 0, 459),
        (0.99, 1, 662),
        (0.99, 10, 2010),
        (0.999, 0, 4603),
    ] {
        assert_eq!(
            standing(n, over, 1.0, q),
            Standing::Below,
            "p{q}: {over} of {n}"
        );
        assert_ne!(
            standing(n - n / 50 - 2, over, 1.0, q),
            Standing::Below,
            "p{q}: {over} of a little less than {n}"
        );
    }
    assert_eq!(needed(0.99), 459);
    assert_eq!(standing(1000, 40, 1.0, 0.99), Standing::Above);
    assert_eq!(standing(1000, 10, 1.0, 0.99), Standing::Open);
    // The same counts of samples that hang together decide nothing.
    assert_eq!(standing(459, 0, 10.0, 0.99), Standing::Open);
}

#[test]
fn intervals_cover_the_truth_although_samples_hang_together() {
    // (load, p99 of the response time in ms): ln 100 / (μ − λ).
    for (load, truth_ms) in [(0.5, 9.21), (0.8, 23.03)] {
        let runs = 200;
        let covered = (0..runs)
            .filter(|seed| {
                let (all, windows) = queue(seed * 7919 + 1, load, 150);
                let interval = interval(&all, 0, &windows, 0.99).expect("an interval");
                let truth = (truth_ms * 1e6) as u64;
                interval.low_ns <= truth && interval.high_ns.is_none_or(|high| truth <= high)
            })
            .count();
        let share = covered as f64 / runs as f64;
        assert!((0.90..=0.98).contains(&share), "load {load}: {share}");
    }
}

#[test]
fn independent_samples_are_not_inflated() {
    let mut random = Random(5);
    let (mut all, mut windows) = (Histogram::<u64>::default(), Windows::default());
    for _ in 0..200 {
        let mut window = Histogram::<u64>::default();
        (0..1000).for_each(|_| window.record((random.exponential(0.001) * 1e9) as u64));
        all.add(&window);
        windows.push(&window);
    }
    let x = all.quantile(0.99).expect("samples");
    let phi = windows.inflation(x);
    assert!((1.0..=1.3).contains(&phi), "{phi}");
}

#[test]
fn a_run_at_the_limit_hardly_ever_passes() {
    // 10,000 runs of 2,000 samples whose true exceedance of the limit is exactly the allowed 1 %, and half of it.
    let mut random = Random(11);
    let mut passes = |share: f64, n: u64| {
        let runs = 10_000;
        let passed = (0..runs)
            .filter(|_| {
                let over = binomial(&mut random, n, share);
                standing(n, over, 1.0, 0.99) == Standing::Below
            })
            .count();
        passed as f64 / f64::from(runs)
    };
    let false_passes = passes(0.01, 2000);
    assert!(false_passes <= 0.01, "{false_passes}");
    let true_passes = passes(0.005, 5000);
    assert!(true_passes >= 0.95, "{true_passes}");
}

#[test]
fn a_queue_at_the_limit_hardly_ever_passes_although_its_samples_hang_together() {
    for (load, truth_ms) in [(0.5, 9.21), (0.8, 23.03)] {
        let limit = (truth_ms * 1e6) as u64;
        let runs = 300;
        let passed = (0..runs).filter(|seed| {
            let (all, windows) = queue(seed * 7919 + 3, load, 60);
            let p99 = all.quantile(0.99).expect("samples");
            let inflation = windows.doubted_inflation((&all, 0), p99, limit);
            standing(all.count(), all.above(limit), inflation, 0.99) == Standing::Below
        });
        let share = passed.count() as f64 / runs as f64;
        assert!(share <= 0.02, "load {load}: {share}");
    }
}

#[test]
fn a_drifting_median_decides_nothing_about_a_limit_far_away() {
    let (mut all, mut windows) = (Histogram::<u64>::default(), Windows::default());
    let mut random = Random(3);
    for second in 0..3 {
        let mut window = Histogram::<u64>::default();
        (0..200).for_each(|_| {
            window.record(30_000 + second * 20_000 + (random.unit() * 9000.0) as u64)
        });
        all.add(&window);
        windows.push(&window);
    }
    let median = all.quantile(0.5).expect("samples");
    assert!(windows.inflation(median) > 100.0);
    let judged = |limit| {
        let inflation = windows.doubted_inflation((&all, 0), median, limit);
        standing(600, all.above(limit), inflation, 0.5)
    };
    assert_eq!(judged(10_000_000_000), Standing::Below);
    assert_eq!(judged(100_000), Standing::Open);
    assert_eq!(judged(1), Standing::Above);
    assert!(windows.doubted_inflation((&all, 1), median, 10_000_000_000) > 100.0);
}

/// A binomial draw by the gaps between successes.
fn binomial(random: &mut Random, n: u64, p: f64) -> u64 {
    let (mut at, mut k) = (0.0, 0);
    loop {
        at += (random.unit().max(f64::MIN_POSITIVE).ln() / (1.0 - p).ln()).floor() + 1.0;
        if at > n as f64 {
            return k;
        }
        k += 1;
    }
}

#[test]
fn many_windows_are_joined_and_nothing_is_lost() {
    let mut windows = Windows::default();
    let mut one = Histogram::<u64>::default();
    one.record(5);
    (0..5000).for_each(|_| windows.push(&one));
    assert!(windows.list.len() <= MOST_WINDOWS);
    assert_eq!(windows.list.iter().map(Histogram::count).sum::<u64>(), 5000);
}
