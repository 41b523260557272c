//! Figures computed from the record: ledgers, percentiles, error causes, rates and confidence
//! intervals.

mod confidence;
mod errors;
mod ledger;
mod loss;
mod rates;
mod thin;
mod times;

pub use confidence::{Confidence, intervals as confidence};
pub use errors::{ErrorRow, causes, rows as errors};
pub use ledger::{ArrivalLedger, Requests, arrivals, by_class, requests, unrecorded};
pub use loss::{Loss, losses, unsent_with_nodes};
pub use rates::{
    elapsed_ns, full_points, load_end_ns, per_second, recent_rates, share_of, sum_per_second,
};
pub use thin::Thin;
pub use times::{ENOUGH_BEYOND, Figure, Sampled, Stats};
