//! Hides secrets in everything that is written: known values, and values of names such as
//! `Authorization` or `token`. They are replaced by `‹redacted:6 hex›`. The digits are equal for
//! equal secrets of a run, and salted to prevent guessing.

mod scan;
mod tree;
mod values;

use plan::{Plan, Raw};
use serde_json::Value;
use sha2::{Digest, Sha256};

use values::Values;

/// Salt for the digits of the replacements. It is random for each run, shared by the run's parts,
/// and never written.
#[derive(Clone, Copy, Default)]
pub struct Salt([u8; 16]);

impl Salt {
    #[must_use]
    pub fn new(random: [u8; 16]) -> Salt {
        Salt(random)
    }

    fn hidden(self, secret: &str) -> String {
        if secret.is_empty() || secret.starts_with(MARK) {
            return secret.to_owned();
        }
        let digest = Sha256::new()
            .chain_update(self.0)
            .chain_update(secret)
            .finalize();
        format!("{MARK}{:02x}{:02x}{:02x}›", digest[0], digest[1], digest[2])
    }
}

impl std::fmt::Debug for Salt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Salt")
    }
}

#[derive(Debug, Default)]
pub struct Redactor {
    names: SecretNames,
    values: Values,
    salt: Salt,
}

impl Redactor {
    #[must_use]
    pub fn new(plan: &Plan, extra_names: &[String], salt: Salt) -> Redactor {
        let extra = extra_names.iter().chain(&plan.secret_names);
        let names = SecretNames {
            extra: extra.map(|name| name.to_lowercase()).collect(),
        };
        let mut found = plan.secrets.clone();
        if let Ok(tree) = serde_json::to_value(plan) {
            tree::collect(&tree, &names, &mut found);
        }
        scan::collect(plan.target.expose(), &names, &mut found);
        collect_columns(plan, &names, &mut found);
        let inherited = plan.setup_vars.iter();
        let secret = inherited.filter(|(name, _)| plan.secret_variables.contains(name));
        found.extend(secret.flat_map(|(_, value)| plan::secret::leaves(value)));
        Redactor {
            values: Values::new(&found, salt),
            names,
            salt,
        }
    }

    #[must_use]
    pub fn of_names(names: &[String], salt: Salt) -> Redactor {
        Redactor {
            names: SecretNames {
                extra: names.iter().map(|name| name.to_lowercase()).collect(),
            },
            values: Values::default(),
            salt,
        }
    }

    pub fn learn(&mut self, secret: &str) {
        self.values.learn(secret, self.salt);
    }

    #[must_use]
    pub fn text(&self, text: &str) -> String {
        scan::hide(&self.values.hide(text), &self.names, self.salt)
    }

    /// Returns the printable form of a string that may contain credentials.
    #[must_use]
    pub fn raw(&self, text: &Raw) -> String {
        self.text(text.expose())
    }

    #[must_use]
    pub fn has_secret(&self, text: &str) -> bool {
        self.values.hide(text) != text
    }

    /// Hides a virtual user's secrets as well, without storing them.
    #[must_use]
    pub fn text_without(&self, text: &str, secrets: &[String]) -> String {
        let mut own = Values::default();
        for secret in secrets {
            own.learn(secret, self.salt);
        }
        self.text(&own.hide(text))
    }

    #[must_use]
    pub fn command(&self, arguments: &[String]) -> Vec<String> {
        let mut hide_next = false;
        let hide = |argument: &String| {
            let flag = argument
                .starts_with('-')
                .then(|| argument.trim_start_matches('-'));
            if std::mem::take(&mut hide_next) && flag.is_none() {
                return self.salt.hidden(argument);
            }
            if let Some((name, value)) = flag.and_then(|flag| flag.split_once('=')) {
                let is_secret = self.names.is_secret_flag(name);
                let dashes = &argument[..argument.len() - name.len() - value.len() - 1];
                return if is_secret {
                    format!("{dashes}{name}={}", self.salt.hidden(value))
                } else {
                    self.text(argument)
                };
            }
            hide_next = flag.is_some_and(|name| self.names.is_secret_flag(name));
            self.text(argument)
        };
        arguments.iter().map(hide).collect()
    }

    #[must_use]
    pub fn json(&self, value: &Value) -> Value {
        tree::hide(self, value, false)
    }
}

/// Maximum number of values of secret columns to search for, because each value costs time and
/// memory. Beyond it, values are hidden only by their names.
const MAX_COLUMN_VALUES: usize = 1_000;

fn collect_columns(plan: &Plan, names: &SecretNames, found: &mut Vec<String>) {
    for payload in &plan.payloads {
        for (column, name) in payload.fields.iter().enumerate() {
            if names.is_secret(name) || plan.secret_variables.contains(name) {
                let cells = payload
                    .rows
                    .iter()
                    .filter_map(|row| row.get(column))
                    .take(MAX_COLUMN_VALUES);
                found.extend(cells.map(|cell| query::value::text(Some(cell))));
            }
        }
    }
}

#[derive(Debug, Default)]
struct SecretNames {
    extra: Vec<String>,
}

impl SecretNames {
    fn is_secret(&self, name: &str) -> bool {
        plan::is_secret_name(name) || self.extra.contains(&name.to_lowercase())
    }

    fn is_secret_flag(&self, name: &str) -> bool {
        name != "secret" && self.is_secret(name)
    }
}

const MARK: &str = "‹redacted:";

#[cfg(test)]
mod tests;
