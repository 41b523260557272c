//! Prompts that guide an agent through a task.

use rmcp::model::{JsonObject, Prompt, PromptArgument};

/// A prompt with the argument that is inserted into its text.
struct PromptText {
    name: &'static str,
    about: &'static str,
    argument: &'static str,
    argument_about: &'static str,
    text: &'static str,
}

const PROMPTS: [PromptText; 3] = [
    PromptText {
        name: "design_load_test",
        about: "Design a load test for a goal",
        argument: "goal",
        argument_about: "What the test should answer, with the URL of the service",
        text: "Design a load test with Loadline that answers this: {}\n\n\
1. Ask for what is missing: the expected rate or number of users, the slowest acceptable percentile, the acceptable share of errors, test data, and who may be disturbed.\n\
2. Read loadline://docs/plan, plan-load, plan-steps and criteria, and write a plan that begins with `loadline: 1`.\n\
3. Prefer arrivals per second over users, unless users really wait for each other's responses.\n\
4. Load at least a minute, and enough for 1,000 requests of each endpoint whose p99 matters.\n\
5. Use plan_check, and show its profile and its findings before you start anything.",
    },
    PromptText {
        name: "investigate_slow_endpoint",
        about: "Find out whether and when an endpoint is slow",
        argument: "endpoint",
        argument_about: "URL or label of the endpoint",
        text: "Investigate with Loadline whether this endpoint is slow: {}\n\n\
1. Run it at a low rate first. If the conclusion is INVALID MEASUREMENT, report no figures and repeat the run.\n\
2. Raise the rate in steps within the caps, one run per step, and read each with run_result.\n\
3. Quote each conclusion, and use only figures with trust `full`. Name the interval and the samples.\n\
4. Use compare with at least four runs on each side before you claim a difference.\n\
5. Claim nothing that is listed under must_not_claim, and name no cause that was not measured.",
    },
    PromptText {
        name: "read_this_run",
        about: "Explain the result of a run",
        argument: "run",
        argument_about: "Name of the run, or `last`",
        text: "Explain the Loadline run {} to a developer.\n\n\
1. Call run_result, and begin with its conclusion in its own words.\n\
2. If the measurement is INVALID, say why, say what is under `holds_anyway`, and stop: give no figures.\n\
3. Otherwise report each criterion, then the figures with unit, interval, samples and trust.\n\
4. End with what the run does not show, from must_not_claim.",
    },
];
const MOST_CHARACTERS: usize = 500;

/// Returns all prompts.
pub(crate) fn prompts() -> Vec<Prompt> {
    let prompts = PROMPTS.iter().map(|prompt| {
        let argument = PromptArgument::new(prompt.argument)
            .with_description(prompt.argument_about)
            .with_required(true);
        Prompt::new(prompt.name, Some(prompt.about), Some(vec![argument]))
    });
    prompts.collect()
}

/// Returns the text of a prompt.
///
/// Fails with a one-line error if there is no such prompt or its argument is missing.
pub(crate) fn render(name: &str, arguments: Option<&JsonObject>) -> Result<String, String> {
    let prompt = PROMPTS.iter().find(|prompt| prompt.name == name);
    let prompt = prompt.ok_or_else(|| format!("no prompt `{name}`"))?;
    let value = arguments.and_then(|arguments| arguments.get(prompt.argument));
    let value = value.and_then(|value| value.as_str());
    let value = value.ok_or_else(|| format!("the argument `{}` is missing", prompt.argument))?;
    let value = crate::answer::plain(value, MOST_CHARACTERS);
    Ok(prompt.text.replacen("{}", &value, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_contain_their_argument() {
        for prompt in prompts() {
            let argument = &prompt.arguments.unwrap()[0].name;
            let mut values = JsonObject::new();
            assert!(render(&prompt.name, Some(&values)).is_err());
            values.insert(argument.clone(), "abc {} def".into());
            let text = render(&prompt.name, Some(&values)).unwrap();
            assert!(text.contains("abc {} def"), "{text}");
        }
        assert!(render("x", None).is_err());
    }
}
