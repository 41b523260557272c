//! What stages load: a base URL, or an embedded target that runs from the first stage that loads it up to the next that loads another. How a
//! lab runs is `session`'s affair.

use formats::native::campaign::Campaign;
use session::{LabProcess, MockProcess, lab_process, lab_process::NotStarted, mock_process};

/// What is being loaded.
pub struct Targets {
    /// What the embedded target that runs is called in the plan.
    name: String,
    lab: Option<LabProcess>,
    /// The base URL.
    url: String,
}

impl Targets {
    /// Begins with the first stage's. Every other embedded target is started once and ended: what is wrong with one is known before the
    /// first stage runs.
    ///
    /// # Errors
    /// Why one of them does not start.
    pub fn begin(campaign: &Campaign, mocks: Option<&MockProcess>) -> Result<Targets, NotStarted> {
        let mut targets = Targets {
            name: String::new(),
            lab: None,
            url: String::new(),
        };
        let mut tried: Vec<&str> = Vec::new();
        for number in (0..campaign.stages.len()).rev() {
            let name = name(campaign, number);
            if number == 0 || !tried.contains(&name) {
                targets.load(campaign, number, mocks)?;
                tried.push(name);
            }
        }
        Ok(targets)
    }

    /// Has a stage's target run, if it is an embedded one, and another end.
    ///
    /// # Errors
    /// Why it does not start.
    pub fn load(
        &mut self,
        campaign: &Campaign,
        number: usize,
        mocks: Option<&MockProcess>,
    ) -> Result<(), NotStarted> {
        let name = name(campaign, number);
        if self.name == name {
            return Ok(());
        }
        // The one before is gone by the time the next one begins: the machine is the next one's.
        self.lab = None;
        self.name.clear();
        self.lab = match name.strip_prefix(lab_process::SCHEME) {
            Some(name) => {
                let name = mock_process::redirect(name, mock_process::places(mocks));
                Some(LabProcess::start(&name)?)
            }
            None => None,
        };
        name.clone_into(&mut self.name);
        self.url = match &self.lab {
            Some(lab) => lab.url().to_owned(),
            None => name.to_owned(),
        };
        Ok(())
    }

    /// The embedded target that runs.
    pub fn lab(&self) -> Option<&LabProcess> {
        self.lab.as_ref()
    }

    /// The base URL.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// What a stage loads, as the plan has it; empty where the plan does not say.
pub fn name(campaign: &Campaign, number: usize) -> &str {
    let own = campaign.stages[number].target.as_deref();
    own.or(campaign.target.as_deref()).unwrap_or_default()
}
