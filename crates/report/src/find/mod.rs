//! Report of a search as a page and as Markdown.

mod charts;

use analysis::verdict::Judgement;
use decisions::find::{Ending, Over, ProbeRow, SearchResult, sweep::Scaling};
use record::units;

use crate::{
    sheet::{self, Block, Brief, Sheet, SheetTable},
    svg,
};

#[must_use]
pub fn sheet(found: &SearchResult) -> Sheet {
    let charts = charts::draw(found);
    let blocks = blocks(found, &charts);
    Sheet::new(&title(found), &blocks, charts.clone())
}

fn blocks<'a>(found: &SearchResult, charts: &'a [svg::File]) -> Vec<Block<'a>> {
    let mut blocks = vec![Block::Title(title(found)), Block::Brief(brief(found))];
    let above = found.overload.iter();
    blocks.extend(above.map(|above| Block::Text(format!("Above it: {above}."))));
    let of = match found.varied {
        Over::Rate => "arrivals per second",
        Over::Users => "users, each starting again after its previous response",
    };
    let target = found.target.as_ref();
    let target = target.map_or_else(String::new, |target| format!(" at {target}"));
    blocks.push(Block::Text(format!(
        "{}{target} over {of}, started {}.{}",
        if found.ending == Ending::Swept {
            "Measured"
        } else {
            "Searched"
        },
        found.started_utc,
        if found.slos.is_empty() {
            String::new()
        } else {
            format!(" Criteria: {}.", found.slos.join(", "))
        }
    )));
    if !found.notes.is_empty() {
        blocks.push(Block::List(found.notes.clone()));
    }
    if !charts.is_empty() {
        blocks.push(Block::Heading("By offered load"));
        blocks.extend(charts.iter().map(Block::Chart));
        if found.estimate.is_some() {
            blocks.push(Block::Text(
                "With a probability of 95 %, the load line is within the interval, according to \
                the samples of this search. Near the load line, the share beyond a bound is \
                assumed to grow with the load along a logistic curve. The interval does not \
                cover day-to-day changes of the service."
                    .into(),
            ));
        }
    }
    if let Some(scaling) = &found.scaling {
        blocks.push(Block::Heading("The universal scalability law"));
        blocks.push(Block::Table(law(scaling)));
        blocks.push(Block::Text(
            "With N users, throughput is g N / (1 + s (N − 1) + k N (N − 1)) (Gunther): g is the throughput of one user, s the serial share of the work, k the cost that each user causes for each other user. If the interval of k starts at 0, there is no evidence that throughput ever falls. The law is not applied beyond twice the measured number of users."
                .into(),
        ));
    }
    blocks.push(Block::Heading("Probes"));
    blocks.push(Block::Table(probes(found)));
    blocks
}

fn brief(found: &SearchResult) -> Brief {
    let slos: Vec<String> = found.slos.iter().map(|slo| format!("`{slo}`")).collect();
    let question = match (found.ending, slos.as_slice()) {
        (Ending::Swept, _) => "How does throughput grow with the number of users?".to_owned(),
        (_, []) => "What is the highest load that the service sustains?".to_owned(),
        (_, slos) => format!(
            "What is the highest load at which {} {}?",
            units::listed(slos),
            if slos.len() == 1 { "holds" } else { "hold" }
        ),
    };
    let certainty = match (found.estimate, found.ending) {
        (Some(_), _) => {
            "This is a 95 % interval based only on the samples of this search. It does not account for day-to-day changes in the service."
        }
        (None, Ending::Swept) => "The table of the law has 95 % intervals.",
        (None, _) => "No estimate: the probes below show what was measured.",
    };
    Brief {
        verdict: judgement(found).map(Into::into),
        question,
        sentence: sentence(found),
        cause: None,
        advice: advice(found.ending)
            .into_iter()
            .map(ToOwned::to_owned)
            .collect(),
        certainty: certainty.to_owned(),
    }
}

/// Returns the next steps after a search. `None` if the search found its answer.
fn advice(ending: Ending) -> Option<&'static str> {
    match ending {
        Ending::Swept | Ending::Found => None,
        Ending::HoldsToMost => {
            Some("Search higher with `--max`: the highest level that was allowed holds.")
        }
        Ending::FailsAtLowest => Some("Search lower with `--min`, or relax the criteria."),
        Ending::GeneratorLimited => {
            Some("Use more cores or several machines for the load generator.")
        }
        Ending::GeneratorDisturbed => Some("Repeat the search on a machine without other work."),
        Ending::Drifts => Some("Make the service stable first: caches, data, other load."),
        Ending::OutOfBudget => Some("Raise `--budget`."),
        Ending::Died | Ending::CouldNotRun => Some("Check the service, then repeat the search."),
        Ending::Interrupted => Some("Repeat the search."),
    }
}

fn title(found: &SearchResult) -> String {
    match found.ending {
        Ending::Swept => format!("How {} scales", found.test),
        _ => format!("The load line of {}", found.test),
    }
}

fn sentence(found: &SearchResult) -> String {
    let mut letters = found.sentence.chars();
    match (found.ending, letters.next()) {
        (Ending::Swept, Some(first)) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        _ => format!("The load line: {}.", found.sentence),
    }
}

fn judgement(found: &SearchResult) -> Option<Judgement> {
    match found.ending {
        Ending::Swept => None,
        Ending::Found | Ending::HoldsToMost => Some(Judgement::Pass),
        Ending::FailsAtLowest => Some(Judgement::Fail),
        Ending::GeneratorLimited
        | Ending::GeneratorDisturbed
        | Ending::OutOfBudget
        | Ending::Drifts
        | Ending::Died
        | Ending::CouldNotRun
        | Ending::Interrupted => Some(Judgement::Inconclusive),
    }
}

fn law(scaling: &Scaling) -> SheetTable {
    let mut table = SheetTable::new(&["", "Value", "95 % from", "to"]);
    let number = |value: f64| format!("{value:.5}");
    for (name, (value, low, high)) in [("s", scaling.serial), ("k", scaling.crosstalk)] {
        table.row(
            [name.to_owned(), number(value), number(low), number(high)],
            None,
        );
    }
    let one = format!("{}/s", units::rate(scaling.single_user));
    table.row(["g".to_owned(), one, String::new(), String::new()], None);
    table
}

fn probes(found: &SearchResult) -> SheetTable {
    let mut heads = vec![
        "Load",
        "<",
        "<Why",
        "Counted",
        "Answered as expected",
        "Errors",
        "p50",
        "p99",
    ];
    heads.extend(found.slos.iter().map(String::as_str));
    let mut table = SheetTable::new(&heads);
    for row in &found.probes {
        let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), units::time);
        let mut cells = vec![
            found.varied.level(row.level),
            word(row).to_owned(),
            reason(row),
            units::duration((row.counted_s * 1e9) as u64),
            format!("{}/s", units::rate(row.goodput)),
            row.errors.map_or_else(|| "–".to_owned(), units::share),
            time(row.ns[0]),
            time(row.ns[2]),
        ];
        let measured = row.measured.iter();
        cells.extend(measured.map(|one| one.clone().unwrap_or_else(|| "–".to_owned())));
        let link = (!row.run.is_empty()).then(|| format!("{}/{}", row.run, sheet::PAGE));
        table.row(cells, link);
    }
    table
}

fn word(row: &ProbeRow) -> &'static str {
    match (&row.invalid, row.holds) {
        (Some(_), _) => "INVALID",
        (None, true) => "PASS",
        (None, false) => "FAIL",
    }
}

fn reason(row: &ProbeRow) -> String {
    row.invalid
        .as_ref()
        .map_or_else(|| row.reason.word().to_owned(), Clone::clone)
}
