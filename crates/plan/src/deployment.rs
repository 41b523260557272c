//! From the service that was tested to the one that is meant: how many instances, and what share of each others take. Arithmetic alone;
//! whether it says anything of a service is not decided here.

use serde::{Deserialize, Serialize};

/// Instances of a service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Deployment {
    /// How many.
    pub instances: u32,
    /// The share of each that is taken by what is not the load of the test, from 0 to less than 1.
    pub background: f64,
}

/// What was tested, and what is meant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// What was tested.
    pub tested: Deployment,
    /// What is meant.
    pub meant: Deployment,
}

impl Deployment {
    /// What is left for the load, in whole instances.
    #[must_use]
    pub fn left(self) -> f64 {
        f64::from(self.instances) * (1.0 - self.background)
    }
}

impl Scaling {
    /// So many times the load, where each instance carries its part of it.
    #[must_use]
    pub fn times(self) -> f64 {
        self.meant.left() / self.tested.left()
    }

    /// How far that is from what was tested: what others send grows with the instances too.
    #[must_use]
    pub fn reach(self) -> f64 {
        let instances = f64::from(self.meant.instances) / f64::from(self.tested.instances);
        instances.max(self.times())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tested: (u32, f64), meant: (u32, f64)) -> Scaling {
        let [tested, meant] = [tested, meant].map(|(instances, background)| Deployment {
            instances,
            background,
        });
        Scaling { tested, meant }
    }

    #[test]
    fn what_is_left_of_each_instance_grows_with_their_number() {
        // 16 × 65 % are 10.4 instances beside 5.7.
        let scaling = of((6, 0.05), (16, 0.35));
        assert!((scaling.times() - 10.4 / 5.7).abs() < 1e-12);
        assert!((scaling.reach() - 16.0 / 6.0).abs() < 1e-12);
        let same = of((3, 0.2), (3, 0.2));
        assert!((same.times() - 1.0).abs() < 1e-12);
        // Less for others is further away than the instances are.
        let freed = of((2, 0.5), (3, 0.0));
        assert!((freed.reach() - 3.0).abs() < 1e-12);
    }
}
