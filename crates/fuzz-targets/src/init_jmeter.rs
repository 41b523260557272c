//! Reads arbitrary text as a JMeter plan: as a whole, as elements of a thread group, and as values.
//! The result must be a valid plan or a one-line error.

use crate::init_sources::check_source;

const BEGIN: &str = "<jmeterTestPlan><hashTree><TestPlan/><hashTree><ThreadGroup><stringProp name='ThreadGroup.num_threads'>2</stringProp></ThreadGroup><hashTree>";
const END: &str = "</hashTree></hashTree></hashTree></jmeterTestPlan>";

pub fn check(text: &str) {
    check_source(text);
    check_source(&format!("{BEGIN}{text}{END}"));
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let property = |name: &str| format!("<stringProp name='{name}'>{escaped}</stringProp>");
    check_source(&format!(
        "{BEGIN}<IfController>{}</IfController><hashTree><HTTPSamplerProxy>{}{}</HTTPSamplerProxy><hashTree><RegexExtractor>{}{}</RegexExtractor><hashTree/></hashTree></hashTree>{END}",
        property("IfController.condition"),
        "<stringProp name='HTTPSampler.domain'>a</stringProp>",
        property("HTTPSampler.path"),
        property("RegexExtractor.refname"),
        property("RegexExtractor.regex"),
    ));
}
