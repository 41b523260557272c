//! Inputs of a script: the inputs common to all formats, and Artillery's own flags.

use std::{ops::Deref, path::PathBuf};

use formats::Inputs;

#[derive(Clone, Default)]
pub struct ArtilleryInputs {
    pub inputs: Inputs,
    pub config: Option<PathBuf>,
    pub overrides: Option<String>,
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
