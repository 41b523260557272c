//! Lines of `frontend.jsonl`: figures of the front end's accumulators, by interval.

use std::collections::{BTreeMap, btree_map::Entry};

use measure::accumulator::{Sketch, Tally, ValueCounts};
use serde::{Deserialize, Serialize};

use crate::redact::Redactor;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FrontendLine {
    pub i: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    counters: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    firsts: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    lasts: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    sketches: BTreeMap<String, SketchLine>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    counts: BTreeMap<String, Vec<u64>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SketchLine {
    keys: Vec<(i64, u64)>,
    zeros: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl FrontendLine {
    pub(super) fn new(index: u64, part: &Tally, redactor: &Redactor) -> FrontendLine {
        let named = |name: &String| redactor.text(name);
        let sketches = renamed(&part.sketches, named, |a, b| a.merge(&b));
        FrontendLine {
            i: index,
            counters: renamed(&part.counters, named, |a, b| *a += b),
            firsts: part.firsts.clone(),
            lasts: part.lasts.clone(),
            sketches: sketches
                .into_iter()
                .map(|(name, sketch)| (name, SketchLine::from_sketch(&sketch)))
                .collect(),
            counts: part
                .counts
                .iter()
                .map(|(name, counts)| (name.clone(), packed(counts)))
                .collect(),
        }
    }

    pub(super) fn part(self) -> Tally {
        Tally {
            counters: self.counters,
            firsts: self.firsts,
            lasts: self.lasts,
            sketches: self
                .sketches
                .into_iter()
                .map(|(name, line)| (name, line.sketch()))
                .collect(),
            counts: self
                .counts
                .into_iter()
                .map(|(name, packed)| (name, unpacked(&packed)))
                .collect(),
        }
    }
}

fn packed(counts: &ValueCounts) -> Vec<u64> {
    let mut last = 0;
    let pair = |(value, n): &(u64, u64)| [value - std::mem::replace(&mut last, *value), *n];
    counts.pairs().iter().flat_map(pair).collect()
}

fn unpacked(packed: &[u64]) -> ValueCounts {
    let mut value = 0u64;
    let pairs = packed.chunks_exact(2).map(|pair| {
        value = value.saturating_add(pair[0]);
        (value, pair[1])
    });
    ValueCounts::from_pairs(pairs.collect())
}

fn renamed<T: Clone>(
    map: &BTreeMap<String, T>,
    name: impl Fn(&String) -> String,
    add: impl Fn(&mut T, T),
) -> BTreeMap<String, T> {
    let mut out: BTreeMap<String, T> = BTreeMap::new();
    for (key, value) in map {
        match out.entry(name(key)) {
            Entry::Vacant(entry) => {
                entry.insert(value.clone());
            }
            Entry::Occupied(mut entry) => add(entry.get_mut(), value.clone()),
        }
    }
    out
}

impl SketchLine {
    fn from_sketch(sketch: &Sketch) -> SketchLine {
        let keys = sketch.keys.iter().map(|(key, n)| (*key, *n)).collect();
        SketchLine {
            keys,
            zeros: sketch.zeros,
            sum: sketch.sum,
            min: sketch.min,
            max: sketch.max,
        }
    }

    fn sketch(self) -> Sketch {
        Sketch {
            keys: self.keys.into_iter().collect(),
            zeros: self.zeros,
            sum: self.sum,
            min: self.min,
            max: self.max,
        }
    }
}
