//! Errors of commands, with their exit codes.

use formats::LoadErrors;
use plan::{Problem, units};
use session::{exit, lab_process::NotStarted};

use crate::mock::NotMocked;

pub struct CommandError {
    pub lines: Vec<String>,
    pub code: u8,
}

impl CommandError {
    pub fn bad_input(line: impl std::fmt::Display) -> CommandError {
        CommandError {
            lines: vec![line.to_string()],
            code: exit::BAD_INPUT,
        }
    }

    pub fn print(self) -> u8 {
        self.lines.iter().for_each(crate::log::error);
        self.code
    }

    pub fn could_not_run(line: impl std::fmt::Display) -> CommandError {
        CommandError {
            lines: vec![line.to_string()],
            code: exit::COULD_NOT_RUN,
        }
    }
}

impl From<NotMocked> for CommandError {
    fn from(error: NotMocked) -> CommandError {
        match error {
            NotMocked::Refused(lines) => CommandError {
                lines,
                code: exit::BAD_INPUT,
            },
            NotMocked::NotStarted(error) => error.into(),
        }
    }
}

impl From<NotStarted> for CommandError {
    fn from(error: NotStarted) -> CommandError {
        let code = if error.bad_input {
            exit::BAD_INPUT
        } else {
            exit::COULD_NOT_RUN
        };
        CommandError {
            lines: vec![error.line],
            code,
        }
    }
}

impl From<LoadErrors> for CommandError {
    fn from(errors: LoadErrors) -> CommandError {
        CommandError {
            lines: errors.problems.iter().map(ToString::to_string).collect(),
            code: exit::BAD_INPUT,
        }
    }
}

impl From<Vec<Problem>> for CommandError {
    fn from(problems: Vec<Problem>) -> CommandError {
        CommandError {
            lines: problems.iter().map(ToString::to_string).collect(),
            code: exit::BAD_INPUT,
        }
    }
}

pub fn flag_error(flag: &str, text: &str, error: &units::GrammarError) -> CommandError {
    CommandError::bad_input(error.describe(flag, text))
}
