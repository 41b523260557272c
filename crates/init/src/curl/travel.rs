//! Connection settings of curl commands.

use formats::document::SyntaxError;

use super::command::{BodyPiece, CurlCommand, refused};
use crate::{draft::Http, placeholders};

pub fn take_over(commands: &[CurlCommand], http: &mut Http) -> Result<(), SyntaxError> {
    for BodyPiece { how, word } in commands.iter().flat_map(|command| &command.travel) {
        let text = &word.text;
        if placeholders::has_variables(text) || text.contains("{{") || text.is_empty() {
            let reason =
                format!("--{how} is read before the run: write a fixed value, without variables");
            return Err(refused(word.mark, &reason));
        }
        let place = match *how {
            "resolve" => {
                let text = text.strip_prefix('+').unwrap_or(text);
                if text.starts_with('-') || text.split(':').count() < 3 {
                    let reason = "--resolve in a plan must be HOST:PORT:ADDRESS";
                    return Err(refused(word.mark, reason));
                }
                if !http.resolve.iter().any(|known| known == text) {
                    http.resolve.push(text.to_owned());
                }
                continue;
            }
            "unix-socket" => &mut http.unix,
            "cacert" => &mut http.authorities,
            "cert" => {
                if text.contains(':') {
                    let reason = "--cert: plans do not support passwords for certificates: use a certificate without one";
                    return Err(refused(word.mark, reason));
                }
                &mut http.certificate
            }
            _ => &mut http.key,
        };
        if place.as_ref().is_some_and(|known| known != text) {
            let reason = format!(
                "--{how}: a plan has one setting for all its requests: create a separate plan for each"
            );
            return Err(refused(word.mark, &reason));
        }
        *place = Some(text.clone());
    }
    if http.certificate.is_some() && http.key.is_none() {
        http.key.clone_from(&http.certificate);
    }
    Ok(())
}
