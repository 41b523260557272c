//! The flags of `artillery run` that are about other people's machines: where the load runs, and where results are sent. Loads
//! run here; results stay here.

use session::SharedVoice;

use super::flags::RunFlags;

/// Artillery's code for a preparation that failed.
const FAILED: u8 = 1;
/// Artillery's code for a missing key of its service.
const NO_KEY: u8 = 7;
/// So many tags may be set.
const MOST_TAGS: usize = 10;

/// Looks at the flags before anything else happens.
///
/// # Errors
/// The exit code, if the run cannot be what they ask for; why has been said.
pub fn check(
    args: &RunFlags,
    environment: &[(String, String)],
    voice: &SharedVoice,
) -> Result<(), u8> {
    if let Some(tags) = &args.tags {
        check_tags(tags, voice)?;
    }
    match args.platform.as_str() {
        "local" => {}
        platform => {
            voice.error(&format_args!(
                "--platform {platform} is not supported: Loadline runs the load on this machine; leave the flag out"
            ));
            return Err(FAILED);
        }
    }
    if !args.platform_opt.is_empty() {
        voice.warning(&"--platform-opt has no effect: the load runs on this machine");
    }
    if args.count > 1 {
        voice.warning(&"--count has no effect: one engine carries the load, whatever it is");
    }
    check_record(args, environment, voice)
}

/// `NAME:VALUE,…`: what is neither is passed over with a warning.
fn check_tags(tags: &str, voice: &SharedVoice) -> Result<(), u8> {
    let tags: Vec<&str> = tags.split(',').map(str::trim).collect();
    let is_tag = |tag: &&str| {
        tag.split_once(':')
            .is_some_and(|(name, value)| !name.is_empty() && !value.is_empty())
    };
    let (good, bad): (Vec<&str>, Vec<&str>) = tags.into_iter().partition(is_tag);
    if good.len() > MOST_TAGS {
        voice.out(&format!("A maximum of {MOST_TAGS} tags is supported\n"));
        return Err(FAILED);
    }
    if !bad.is_empty() {
        voice.out(&format!(
            "WARNING: could not parse some tags: {}\n",
            bad.join(", ")
        ));
    }
    Ok(())
}

/// Results are not sent anywhere; a key that is missing is an error all the same, because it is one in pipelines.
fn check_record(
    args: &RunFlags,
    environment: &[(String, String)],
    voice: &SharedVoice,
) -> Result<(), u8> {
    if !args.record {
        return Ok(());
    }
    let in_environment = environment
        .iter()
        .any(|(name, value)| name == "ARTILLERY_CLOUD_API_KEY" && !value.is_empty());
    if args.key.as_deref().unwrap_or_default().is_empty() && !in_environment {
        voice.say(&"Error: API key is required to record test results to Artillery Cloud");
        voice.error(
            &"--record needs --key, and has no effect here: results stay in Loadline's record",
        );
        return Err(NO_KEY);
    }
    voice.warning(
        &"--record has no effect: results are not sent anywhere, they stay in Loadline's record",
    );
    Ok(())
}
