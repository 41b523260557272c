//! Command line of `loadline lab`.

use case_study_labs::LABS;
use session::exit;

use crate::{args, log};

pub fn command(args: &args::Lab) -> u8 {
    let Some(name) = &args.name else {
        let width = LABS.iter().map(|lab| lab.name.len()).max().unwrap_or(0);
        for lab in LABS {
            log::out(&format!("{:width$}  {}\n", lab.name, lab.help));
        }
        return exit::PASS;
    };
    let mut extra = Vec::new();
    for option in &args.options {
        let Some((key, value)) = option.split_once('=') else {
            log::error(format_args!(
                "`{option}` is not a lab option: use NAME=VALUE"
            ));
            return exit::BAD_INPUT;
        };
        extra.push((key.to_owned(), value.to_owned()));
    }
    let most = args.max_in_flight.clone();
    extra.extend(most.map(|most| ("max-in-flight".to_owned(), most)));
    let downstream = args.downstream.iter();
    extra.extend(downstream.map(|named| ("downstream".to_owned(), named.clone())));
    let options = lab::LabOptions {
        host: args.host.clone(),
        port: args.port,
        token: args.token.clone(),
        seed: args.seed,
        log: args.log.clone(),
        print_token: args.print_token,
        until_stdin_closes: args.until_stdin_closes,
        extra,
    };
    match lab::run(LABS, name, options, std::io::stdout()) {
        Ok(()) => exit::PASS,
        Err(error) => {
            log::error(&error);
            if error.is_bad_input() {
                exit::BAD_INPUT
            } else {
                exit::COULD_NOT_RUN
            }
        }
    }
}
