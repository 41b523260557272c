//! `artillery version` and `artillery dino`.

use session::SharedVoice;

/// Version of Artillery that this command follows.
const FOLLOWS: &str = "2.0.21";

pub fn version(voice: &SharedVoice) -> u8 {
    voice.out(&format!(
        "VERSION INFO:\n\nArtillery: {FOLLOWS} (as Loadline {} follows it)\nNode.js:   not used\nOS:        {}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
    ));
    0
}

pub fn dino(message: &str, voice: &SharedVoice) -> u8 {
    let rule = "-".repeat(message.chars().count() + 2);
    voice.out(&format!(
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
