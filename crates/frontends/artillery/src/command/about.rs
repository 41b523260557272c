//! `artillery version` and `artillery dino`.

use session::SharedMessageSink;

const FOLLOWS: &str = "2.0.21";

pub fn version(sink: &SharedMessageSink) -> u8 {
    sink.out(&format!(
        "VERSION INFO:\n\nArtillery: {FOLLOWS} (as Loadline {} follows it)\nNode.js:   not used\nOS:        {}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
    ));
    0
}

pub fn dino(message: &str, sink: &SharedMessageSink) -> u8 {
    let rule = "-".repeat(message.chars().count() + 2);
    sink.out(&format!(
        " {rule}\n< {message} >\n {rule}\n{}",
        r"      \
       \     __
            / o)
     .-^^^-/ /
  __/       /
 <__.|_|-|_|
"
    ));
    0
}
