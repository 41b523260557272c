//! Flags for Artillery's cloud. Loads run on this machine, and results are never uploaded.

use session::SharedMessageSink;

use super::flags::RunFlags;

const FAILED: u8 = 1;
const NO_KEY: u8 = 7;
const MOST_TAGS: usize = 10;

/// Checks the cloud flags before all others.
pub fn check(
    args: &RunFlags,
    environment: &[(String, String)],
    sink: &SharedMessageSink,
) -> Result<(), u8> {
    if let Some(tags) = &args.tags {
        check_tags(tags, sink)?;
    }
    match args.platform.as_str() {
        "local" => {}
        platform => {
            sink.error(&format_args!(
                "--platform {platform} is not supported, because Loadline runs the load on this machine: remove the flag"
            ));
            return Err(FAILED);
        }
    }
    if !args.platform_opt.is_empty() {
        sink.warning(&"--platform-opt has no effect: the load runs on this machine");
    }
    if args.count > 1 {
        sink.warning(&"--count has no effect: a single engine generates the load");
    }
    check_record(args, environment, sink)
}

/// Reads `NAME:VALUE,…`. Warns about other formats.
fn check_tags(tags: &str, sink: &SharedMessageSink) -> Result<(), u8> {
    let tags: Vec<&str> = tags.split(',').map(str::trim).collect();
    let is_tag = |tag: &&str| {
        tag.split_once(':')
            .is_some_and(|(name, value)| !name.is_empty() && !value.is_empty())
    };
    let (good, bad): (Vec<&str>, Vec<&str>) = tags.into_iter().partition(is_tag);
    if good.len() > MOST_TAGS {
        sink.out(&format!("A maximum of {MOST_TAGS} tags is supported\n"));
        return Err(FAILED);
    }
    if !bad.is_empty() {
        sink.out(&format!(
            "WARNING: could not parse some tags: {}\n",
            bad.join(", ")
        ));
    }
    Ok(())
}

/// Fails if there is no key, because pipelines rely on this error. Results are not uploaded.
fn check_record(
    args: &RunFlags,
    environment: &[(String, String)],
    sink: &SharedMessageSink,
) -> Result<(), u8> {
    if !args.record {
        return Ok(());
    }
    let in_environment = environment
        .iter()
        .any(|(name, value)| name == "ARTILLERY_CLOUD_API_KEY" && !value.is_empty());
    if args.key.as_deref().unwrap_or_default().is_empty() && !in_environment {
        sink.say(&"Error: API key is required to record test results to Artillery Cloud");
        sink.error(
            &"--record needs --key in Artillery, and has no effect here: results stay in Loadline's record",
        );
        return Err(NO_KEY);
    }
    sink.warning(
        &"--record has no effect: results are not uploaded, but stay in Loadline's record",
    );
    Ok(())
}
