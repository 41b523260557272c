//! `artillery version` and `artillery dino`: what a script asks that wants to know whom it talks to, and what people ask for fun.

use session::SharedVoice;

/// The version of Artillery whose behaviour this door follows.
const FOLLOWS: &str = "2.0.21";

/// Prints whose door this is.
pub fn version(voice: &SharedVoice) -> u8 {
    voice.out(&format!(
        "VERSION INFO:\n\nArtillery: {FOLLOWS} (as Loadline {} follows it)\nNode.js:   not used\nOS:        {}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
    ));
    0
}

/// Prints an animal that says something.
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
