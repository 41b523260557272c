//! Extrapolation from the tested service to the target service, by the number of instances and
//! their background load.

use serde::{Deserialize, Serialize};

/// Instances of a service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Deployment {
    /// Number of instances.
    pub instances: u32,
    /// Share of each instance that background load uses, at least 0 and below 1.
    pub background: f64,
}

/// The deployments of the tested and the target service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Deployment of the tested service.
    pub tested: Deployment,
    /// Deployment of the target service.
    pub target: Deployment,
}

impl Deployment {
    /// Returns the capacity that remains for the load, in instances.
    #[must_use]
    pub fn left(self) -> f64 {
        f64::from(self.instances) * (1.0 - self.background)
    }
}

impl Scaling {
    /// Returns the factor between the tested and the target load, if each instance handles an equal
    /// part.
    #[must_use]
    pub fn times(self) -> f64 {
        self.target.left() / self.tested.left()
    }

    /// Returns how far the extrapolation reaches: the factor of the load or of the number of
    /// instances, whichever is larger. Background load grows with the instances too.
    #[must_use]
    pub fn reach(self) -> f64 {
        let instances = f64::from(self.target.instances) / f64::from(self.tested.instances);
        instances.max(self.times())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instances(instances: u32, background: f64) -> Deployment {
        Deployment {
            instances,
            background,
        }
    }

    fn scaling(tested: Deployment, target: Deployment) -> Scaling {
        Scaling { tested, target }
    }

    #[test]
    fn factor_is_ratio_of_available_instances() {
        // The target has 16 × 65 % = 10.4 available instances, and the tested service has 6 × 95 %
        // = 5.7.
        let grown = scaling(instances(6, 0.05), instances(16, 0.35));
        assert!((grown.times() - 10.4 / 5.7).abs() < 1e-12);
        assert!((grown.reach() - 16.0 / 6.0).abs() < 1e-12);
        let same = scaling(instances(3, 0.2), instances(3, 0.2));
        assert!((same.times() - 1.0).abs() < 1e-12);
        let freed = scaling(instances(2, 0.5), instances(3, 0.0));
        assert!((freed.reach() - 3.0).abs() < 1e-12);
    }
}
