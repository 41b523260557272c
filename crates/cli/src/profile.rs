//! The command `loadline plan`, which shows the load profile of a test without sending requests.

use std::path::PathBuf;

use formats::{
    Inputs, LoadErrors,
    native::{
        self,
        campaign::{Campaign, Work},
    },
};
use plan::{FirstArrival, Load, Note, Phase, Plan, profile::Assumed, units};
use report::profile::ShownColumn;
use session::{exit, exports, inputs, profile, sample_size};

use crate::{args, front_ends, log};

pub fn command(args: &args::PlanArgs) -> u8 {
    if args.schema {
        let schema = serde_json::to_string_pretty(&native::schema::schema()).unwrap_or_default();
        log::out(&format!("{schema}\n"));
        return exit::PASS;
    }
    let reported = assumed(args)
        .map_err(|line| vec![line])
        .and_then(|assumed| print(args, assumed));
    match reported {
        Ok(code) => code,
        Err(lines) => {
            lines.iter().for_each(log::error);
            exit::BAD_INPUT
        }
    }
}

fn print(args: &args::PlanArgs, flags: Assumed) -> Result<u8, Vec<String>> {
    let plan = load(args)?;
    let stated = plan.assumed.unwrap_or_default();
    let assumed = Assumed {
        latency_ns: flags.latency_ns.or(stated.latency_ns),
        answer_bytes: flags.answer_bytes.or(stated.answer_bytes),
    };
    let in_lines =
        |problems: Vec<plan::Problem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (profile, checks) = profile::profile(&plan, args.seed, assumed).map_err(in_lines)?;
    for note in &plan.provenance.notes {
        match &note.at {
            Some(at) => log::warning(format_args!("{at}: {}", note.text)),
            None => log::warning(&note.text),
        }
    }
    sample_size::notes(&plan, &profile)
        .iter()
        .for_each(log::warning);
    let curve = plan::profile::curve(&plan.load, plan.end_ns(), report::profile::stretches());
    let machine: Vec<_> = checks
        .iter()
        .map(|check| (check.about, check.enough, check.text.as_str()))
        .collect();
    log::makes_way(args.json.as_deref());
    let columns = ShownColumn {
        markdown: args.markdown,
        exact: args.exact,
        columns: (!args.markdown).then(log::terminal).flatten(),
    };
    log::summary(&report::profile::text(
        &profile,
        curve.as_deref(),
        &machine,
        columns,
    ));
    let Some(path) = &args.json else {
        return Ok(exit::PASS);
    };
    let whole = serde_json::json!({ "profile": profile, "machine": checks });
    let text = serde_json::to_string_pretty(&whole).unwrap_or_default();
    if log::is_stdout(path) {
        log::document(&(text + "\n"));
        return Ok(exit::PASS);
    }
    let written = exports::can_be_written(path).and_then(|()| {
        std::fs::write(path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))
    });
    Ok(match written {
        Ok(()) => exit::PASS,
        Err(line) => {
            log::error(line);
            exit::COULD_NOT_RUN
        }
    })
}

fn assumed(args: &args::PlanArgs) -> Result<Assumed, String> {
    let latency_ns = args
        .latency
        .as_deref()
        .map(|text| units::parse_duration(text).map_err(|error| error.describe("--latency", text)));
    let answer_bytes = args
        .answer
        .as_deref()
        .map(|text| units::parse_size(text).map_err(|error| error.describe("--answer", text)));
    Ok(Assumed {
        latency_ns: latency_ns.transpose()?,
        answer_bytes: answer_bytes.transpose()?,
    })
}

fn load(args: &args::PlanArgs) -> Result<Plan, Vec<String>> {
    let in_lines = |errors: LoadErrors| {
        errors
            .problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let inputs = Inputs {
        files: args.file.iter().cloned().collect::<Vec<PathBuf>>(),
        environment: args.environment.clone(),
        target: args.target.clone(),
        process_env: inputs::environment(),
        stage: args.stage.clone(),
        native: true,
        ..Inputs::default()
    };
    if inputs.stage.is_none() && native::is_campaign(&inputs) {
        return joined(native::campaign::load(&inputs).map_err(in_lines)?);
    }
    formats::load(&inputs, &front_ends::readers()).map_err(in_lines)
}

fn joined(campaign: Campaign) -> Result<Plan, Vec<String>> {
    let mut whole: Option<Plan> = None;
    let mut phases = Vec::new();
    let mut left_out = Vec::new();
    for stage in campaign.stages {
        let mut plan = match stage.work {
            Work::Load(plan) => *plan,
            Work::Command(_) => {
                left_out.push(format!(
                    "the stage `{}` runs another tool and is not included in this profile",
                    stage.name
                ));
                continue;
            }
        };
        match std::mem::replace(&mut plan.load, Load::Once) {
            Load::Open { phases: own, .. } => {
                let alone = own.len() == 1;
                phases.extend(own.into_iter().enumerate().map(|(number, phase)| Phase {
                    name: Some(match &phase.name {
                        Some(name) => format!("{}: {name}", stage.name),
                        None if alone => stage.name.clone(),
                        None => format!("{}: {}", stage.name, number + 1),
                    }),
                    ..phase
                }));
            }
            Load::Closed { .. } | Load::Several { .. } | Load::Once => left_out.push(format!(
                "the stage `{}` has no single rate: use `--stage '{}'` to show only this stage",
                stage.name, stage.name
            )),
        }
        whole.get_or_insert(plan);
    }
    let Some(mut plan) = whole.filter(|_| !phases.is_empty()) else {
        left_out.push("no stage in this campaign has an arrival rate".to_owned());
        return Err(left_out);
    };
    plan.name = campaign.name;
    plan.load = Load::Open {
        phases,
        first: FirstArrival::AtStart,
    };
    let notes = left_out.into_iter().map(|text| Note { at: None, text });
    plan.provenance.notes.extend(notes);
    Ok(plan)
}
