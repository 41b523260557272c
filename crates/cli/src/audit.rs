//! The command `loadline audit`. Exit codes: 0 consistent, 1 contradictions, 2 unknown format, 3
//! unreadable.

use std::path::Path;

use audit::{
    check::{self, Audit},
    import,
};

use record::Run;

use session::exit;

use crate::{args, log};

struct AuditError {
    reason: String,
    code: u8,
}

pub fn command(args: &args::Audit) -> u8 {
    let mut code = exit::PASS;
    let mut audits = Vec::new();
    log::makes_way(args.json.as_deref());
    for path in &args.files {
        match audit_file(path) {
            Ok(audit) => {
                log::out(&format!(
                    "{}: {}\n{}",
                    path.display(),
                    audit.format,
                    audit.text()
                ));
                if audit.contradictions > 0 {
                    code = code.max(exit::FAIL);
                }
                audits.push((path, audit));
            }
            Err(failed) => {
                log::error(format_args!("{}: {}", path.display(), failed.reason));
                code = code.max(failed.code);
            }
        }
    }
    if let Some(to) = &args.json {
        let files: Vec<serde_json::Value> = audits
            .iter()
            .map(|(path, audit)| json(path, audit))
            .collect();
        let whole = serde_json::json!({ "schema": 1, "files": files });
        if log::is_stdout(to) {
            log::document(&format!("{whole:#}\n"));
            return code;
        }
        if let Err(error) = std::fs::write(to, format!("{whole:#}\n")) {
            log::error(format_args!("cannot write {}: {error}", to.display()));
            return exit::COULD_NOT_RUN;
        }
    }
    code
}

fn audit_file(path: &Path) -> Result<Audit, AuditError> {
    let text = if path.join("manifest.json").exists() {
        let run = Run::open(path).map_err(|error| AuditError {
            reason: error.to_string(),
            code: exit::COULD_NOT_RUN,
        })?;
        // Audit the record of a run, because its saved summary may be old.
        serde_json::to_string_pretty(&analysis::summarise(&run)).unwrap_or_default()
    } else if path.is_dir() {
        return Err(AuditError {
            reason: format!("this folder is not a run; audit reads {}", import::ACCEPTED),
            code: exit::BAD_INPUT,
        });
    } else {
        let bytes = formats::files::read(path).map_err(|error| AuditError {
            reason: error.to_string(),
            code: exit::COULD_NOT_RUN,
        })?;
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let import = import::read(&text).map_err(|unknown| AuditError {
        reason: unknown.to_string(),
        code: exit::BAD_INPUT,
    })?;
    Ok(check::audit(&import))
}

fn json(path: &Path, audit: &Audit) -> serde_json::Value {
    let mut value = serde_json::to_value(audit).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        members.insert("file".into(), path.display().to_string().into());
    }
    value
}
