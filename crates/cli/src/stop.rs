//! Why a command ends before it runs anything: lines to be told, and the code to end with.

use formats::LoadErrors;
use plan::{Problem, units};
use session::{exit, lab_process::NotStarted};

use crate::mocked::NotMocked;

/// Why a command ends before it runs anything.
pub struct Stop {
    pub lines: Vec<String>,
    pub code: u8,
}

impl Stop {
    /// The input is at fault.
    pub fn bad_input(line: impl std::fmt::Display) -> Stop {
        Stop {
            lines: vec![line.to_string()],
            code: exit::BAD_INPUT,
        }
    }

    /// Says it, and answers the code.
    pub fn tell(self) -> u8 {
        self.lines.iter().for_each(crate::log::error);
        self.code
    }

    /// The machine is.
    pub fn could_not_run(line: impl std::fmt::Display) -> Stop {
        Stop {
            lines: vec![line.to_string()],
            code: exit::COULD_NOT_RUN,
        }
    }
}

impl From<NotMocked> for Stop {
    fn from(error: NotMocked) -> Stop {
        match error {
            NotMocked::Refused(lines) => Stop {
                lines,
                code: exit::BAD_INPUT,
            },
            NotMocked::NotStarted(error) => error.into(),
        }
    }
}

impl From<NotStarted> for Stop {
    fn from(error: NotStarted) -> Stop {
        let code = if error.bad_input {
            exit::BAD_INPUT
        } else {
            exit::COULD_NOT_RUN
        };
        Stop {
            lines: vec![error.line],
            code,
        }
    }
}

impl From<LoadErrors> for Stop {
    fn from(errors: LoadErrors) -> Stop {
        Stop {
            lines: errors.problems.iter().map(ToString::to_string).collect(),
            code: exit::BAD_INPUT,
        }
    }
}

impl From<Vec<Problem>> for Stop {
    fn from(problems: Vec<Problem>) -> Stop {
        Stop {
            lines: problems.iter().map(ToString::to_string).collect(),
            code: exit::BAD_INPUT,
        }
    }
}

/// What is wrong with the text of a flag.
pub fn flag_error(flag: &str, text: &str, error: &units::GrammarError) -> Stop {
    Stop::bad_input(error.told(flag, text))
}
