//! What a script is read with: what any reader is given, and the flags that only Artillery has.

use std::{ops::Deref, path::PathBuf};

use formats::Inputs;

/// What `artillery run` is given beside what any reader is.
#[derive(Clone, Default)]
pub struct ArtilleryInputs {
    /// What any reader is given.
    pub inputs: Inputs,
    /// `--config`: merged last.
    pub config: Option<PathBuf>,
    /// `--overrides`: a JSON object.
    pub overrides: Option<String>,
    /// `--payload`.
    pub payload: Option<PathBuf>,
}

impl Deref for ArtilleryInputs {
    type Target = Inputs;

    fn deref(&self) -> &Inputs {
        &self.inputs
    }
}

impl From<Inputs> for ArtilleryInputs {
    fn from(inputs: Inputs) -> ArtilleryInputs {
        ArtilleryInputs {
            inputs,
            ..ArtilleryInputs::default()
        }
    }
}
