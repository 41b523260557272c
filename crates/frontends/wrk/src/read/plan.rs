//! Converts a wrk command to a plan. Requests come from the script, or from the URL and headers.

use plan::{
    ArrivalProcess, FirstArrival, Format, Load, Note, Phase, Plan, PoolPolicy, Rate, Shape,
    Timeouts, Work, work::Batch,
};

use super::{Persona, WrkCommand};

impl WrkCommand {
    #[must_use]
    pub fn arrivals(&self) -> ArrivalProcess {
        if self.at_random {
            ArrivalProcess::Poisson
        } else {
            ArrivalProcess::Even
        }
    }

    #[must_use]
    pub fn plan(&self) -> Plan {
        let connections = self.connections_per_thread().saturating_mul(self.threads);
        let users = u32::try_from(connections).unwrap_or(u32::MAX);
        let load = match self.rate {
            None => Load::users(users, self.duration_ns),
            Some(rate) => {
                let mut phase = Phase::new(self.duration_ns, Shape::Rate(Rate::per_second(rate)));
                phase.arrivals = self.arrivals();
                Load::Open {
                    phases: vec![phase],
                    first: FirstArrival::AtStart,
                }
            }
        };
        let script = self.script.as_ref().map(|path| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            name.to_string_lossy().into_owned()
        });
        let (method, name) = match &script {
            Some(script) => ("", format!("requests of {script}")),
            None => ("GET", self.parts.path.clone()),
        };
        let batch = Work::Batch(Batch {
            method: method.to_owned(),
            name,
        });
        let title = script.unwrap_or_else(|| self.url.clone());
        let mut plan = Plan::new(title, Format("wrk"), self.url.clone(), load, batch);
        plan.http.timeouts = Timeouts {
            total_ns: Some(self.timeout_ns).filter(|ns| *ns > 0),
            headers_ns: None,
            idle_ns: None,
        };
        plan.http.pool = match self.persona {
            Persona::Wrk => PoolPolicy::PerUser,
            Persona::Wrk2 => PoolPolicy::Shared(users),
        };
        plan.http.verify_tls = false;
        plan.http.tls.no_alpn = true;
        let files = self.script.iter();
        plan.provenance.files = files.map(|path| path.display().to_string()).collect();
        if connections != self.connections {
            let text = format!(
                "{} connections cannot be divided evenly among {} threads: {connections} are opened, as in wrk",
                self.connections, self.threads
            );
            plan.provenance.notes.push(Note { at: None, text });
        }
        let secret_headers: Vec<String> = self
            .headers
            .iter()
            .filter(|(name, _)| plan::is_secret_name(name))
            .map(|(_, value)| value.clone())
            .collect();
        plan.secrets.extend(secret_headers);
        plan
    }
}
