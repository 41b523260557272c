//! Load changes from the live view: validates them and reports current values. The engine's workers
//! apply them.

use plan::{Load, Plan, units};
use record::units as words;
use serde_json::{Value, json};
use worker::{
    clock::{Clock, Zero},
    load_control::{AdjustedLoad, Change, ChangeRefusal, LoadControl},
};

const TRIES: usize = 5;

#[derive(Debug, Clone)]
pub struct Steering(SteeringKind);

#[derive(Debug, Clone)]
enum SteeringKind {
    LoadControl(LoadControl, Zero),
    Fixed(String),
}

impl Steering {
    /// Creates the control for a load that can be changed.
    pub fn new(load_control: LoadControl, zero: Zero) -> Steering {
        Steering(SteeringKind::LoadControl(load_control, zero))
    }

    /// Creates the control for a load that cannot be changed. This applies to front ends, parts of
    /// a run, and external drivers.
    pub fn fixed(frontend: &str, plan: &Plan, is_part: bool) -> Steering {
        let tool = match frontend {
            "artillery" => Some("Artillery's"),
            "wrk" => Some("wrk's"),
            "locust" => Some("Locust's"),
            "mqtt" => Some("the MQTT clients'"),
            _ => None,
        };
        let reason = match tool {
            Some(tool) => {
                format!(
                    "{tool} generates the load with its own schedule, so it cannot be changed here"
                )
            }
            None if is_part => {
                "several processes share this load, so it cannot be changed here".to_owned()
            }
            None if plan.load == Load::Once => {
                "this test is a single iteration, without a rate or a number of users".to_owned()
            }
            None if !plan.workloads().is_empty()
                && matches!(plan.work, plan::Work::Scenarios(_)) =>
            {
                "this plan has `workloads`, whose loads cannot be changed here".to_owned()
            }
            None => "an external tool controls this load, so it cannot be changed here".to_owned(),
        };
        Steering(SteeringKind::Fixed(reason))
    }

    /// Returns the state for the page: what can be changed, with value and maximum, or why nothing
    /// can be changed.
    pub fn render(&self) -> Value {
        match &self.0 {
            SteeringKind::Fixed(reason) => json!({"quantity": null, "reason": reason}),
            SteeringKind::LoadControl(load_control, zero) => match load_control
                .now(Clock::system(*zero).now())
            {
                Err(reason) => json!({"quantity": null, "reason": reason.to_string()}),
                Ok(now) => {
                    let (what, most) = match now {
                        AdjustedLoad::Rate(_) => ("rate", load_control.most().per_second.floor()),
                        AdjustedLoad::Users(_) => ("users", f64::from(load_control.most().users)),
                    };
                    json!({"quantity": what, "value": now.figure(), "most": most})
                }
            },
        }
    }

    /// Changes the load (`rate=80/s` or `users=20`) and returns the new value.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if the load stays unchanged.
    pub fn ask(&self, wanted: &str) -> Result<String, String> {
        let (load_control, zero) = match &self.0 {
            SteeringKind::LoadControl(load_control, zero) => (load_control, *zero),
            SteeringKind::Fixed(reason) => return Err(reason.clone()),
        };
        let wanted = read(wanted)?;
        let clock = Clock::system(zero);
        // The first attempt may be too late, because this thread has the lowest priority.
        let tries = (0..TRIES).map(|_| load_control.change(wanted, || clock.now()));
        let mut tries = tries.skip_while(|change| *change == Err(ChangeRefusal::TooLate));
        let change = tries.next().unwrap_or(Err(ChangeRefusal::TooLate));
        change
            .map(|change| describe(&change))
            .map_err(|reason| reason.to_string())
    }
}

fn read(wanted: &str) -> Result<AdjustedLoad, String> {
    match wanted.trim().split_once('=') {
        Some(("rate", rate)) => {
            let rate = units::parse_rate(rate).map_err(|reason| reason.to_string())?;
            Ok(AdjustedLoad::Rate(rate))
        }
        Some(("users", users)) => {
            let users = users.trim();
            users.parse().map(AdjustedLoad::Users).map_err(|_| {
                format!("`{users}` is not a valid number of users: use a whole number, 0 or more")
            })
        }
        _ => Err("use rate=NUMBER, per second, or users=NUMBER".to_owned()),
    }
}

fn describe(change: &Change) -> String {
    let figure = |wanted: AdjustedLoad| match wanted {
        AdjustedLoad::Rate(rate) => format!("{}/s", words::decimal(rate.as_f64())),
        AdjustedLoad::Users(1) => "1 user".to_owned(),
        AdjustedLoad::Users(users) => format!("{} users", words::count(u64::from(users))),
    };
    let at = words::duration(change.at_ns);
    let (from, to) = (figure(change.from), figure(change.to));
    format!("after {at}: {to} instead of {from}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_a_rate_or_a_number_of_users() {
        for text in ["rate=80", "rate=80/s\n", "rate=4800/m"] {
            let wanted = read(text).unwrap();
            assert!(matches!(wanted, AdjustedLoad::Rate(_)), "{wanted:?}");
            assert_eq!(wanted.figure(), 80.0);
        }
        assert_eq!(read("users= 0 "), Ok(AdjustedLoad::Users(0)));
        for (wanted, reason) in [
            ("rate=-1", "`-1` is negative: use a rate of 0 or more"),
            ("rate=fast", "`fast` is not a rate"),
            ("rate=", "`` is not a rate"),
            ("rate=NaN", "`NaN` is not a rate"),
            ("users=-1", "`-1` is not a valid number of users"),
            ("users=1.5", "`1.5` is not a valid number of users"),
            ("80", "use rate=NUMBER"),
        ] {
            let reported = read(wanted).unwrap_err();
            assert!(reported.contains(reason), "{reported}");
        }
    }

    #[test]
    fn load_of_other_front_ends_cannot_be_changed() {
        let plan = Plan::new(
            "p".into(),
            plan::Format::NATIVE,
            "http://127.0.0.1:1".into(),
            Load::users(1, 1),
            Vec::new(),
        );
        let reported = |frontend, is_part| {
            Steering::fixed(frontend, &plan, is_part)
                .ask("rate=1")
                .unwrap_err()
        };
        assert!(reported("artillery", false).contains("Artillery's"));
        assert!(reported("locust", true).contains("Locust's"));
        assert!(reported("run", true).contains("several processes"));
        assert!(reported("run", false).contains("external tool"));
    }
}
