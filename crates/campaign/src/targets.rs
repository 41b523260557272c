//! Targets of stages: URLs, or an embedded target that runs until a stage needs another one.

use formats::native::campaign::Campaign;
use session::{LabProcess, MockProcess, lab_process, lab_process::NotStarted, mock_process};

pub struct Targets {
    name: String,
    lab: Option<LabProcess>,
    url: String,
}

impl Targets {
    /// Starts the first target. Before that, starts each embedded target once as a trial.
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

    pub fn lab(&self) -> Option<&LabProcess> {
        self.lab.as_ref()
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

pub fn name(campaign: &Campaign, number: usize) -> &str {
    let own = campaign.stages[number].target.as_deref();
    own.or(campaign.target.as_deref()).unwrap_or_default()
}
