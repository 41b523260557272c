//! Options and URL of a curl command.

use formats::{
    document::{Mark, SyntaxError},
    nearest,
};

use super::{
    options::{self, CurlOption, Meaning},
    shell::Word,
};

#[derive(Debug, Clone)]
pub struct BodyPiece {
    pub how: &'static str,
    pub word: Word,
}

#[derive(Debug, Clone)]
pub struct CurlCommand {
    pub mark: Mark,
    pub url: Option<Word>,
    pub method: Option<Word>,
    pub headers: Vec<Word>,
    pub data: Vec<BodyPiece>,
    pub parts: Vec<BodyPiece>,
    pub travel: Vec<BodyPiece>,
    pub url_query: Vec<Word>,
    pub user: Option<Word>,
    pub cookies: Vec<Word>,
    pub bearer: Option<Word>,
    pub get: bool,
    pub head: bool,
    pub compressed: bool,
    pub follow: bool,
    pub insecure: bool,
    pub max_redirects: Option<u32>,
    pub max_time: Option<String>,
    pub passed: Vec<String>,
}

impl CurlCommand {
    fn at(mark: Mark) -> CurlCommand {
        CurlCommand {
            mark,
            url: None,
            method: None,
            headers: Vec::new(),
            data: Vec::new(),
            parts: Vec::new(),
            travel: Vec::new(),
            url_query: Vec::new(),
            user: None,
            cookies: Vec::new(),
            bearer: None,
            get: false,
            head: false,
            compressed: false,
            follow: false,
            insecure: false,
            max_redirects: None,
            max_time: None,
            passed: Vec::new(),
        }
    }
}

pub fn read(words: &[Word], end: Mark) -> Result<Vec<CurlCommand>, SyntaxError> {
    let mut reader = CommandReader {
        words: words.iter(),
        commands: Vec::new(),
        now: CurlCommand::at(end),
        urls: Vec::new(),
    };
    let mut only_urls = false;
    while let Some(word) = reader.words.next() {
        if only_urls || word.text == "-" || !word.text.starts_with('-') {
            reader.urls.push(word.clone());
        } else if word.text == "--" {
            only_urls = true;
        } else if let Some(name) = word.text.strip_prefix("--") {
            reader.long(name, word)?;
        } else {
            reader.short(&word.text[1..], word)?;
        }
    }
    reader.finish()?;
    Ok(reader.commands)
}

struct CommandReader<'a> {
    words: std::slice::Iter<'a, Word>,
    commands: Vec<CurlCommand>,
    now: CurlCommand,
    urls: Vec<Word>,
}

impl CommandReader<'_> {
    fn finish(&mut self) -> Result<(), SyntaxError> {
        let next = CurlCommand::at(self.now.mark);
        let now = std::mem::replace(&mut self.now, next);
        if self.urls.is_empty() {
            return Err(refused(now.mark, "this curl command has no URL: add one"));
        }
        for url in self.urls.drain(..) {
            self.commands.push(CurlCommand {
                mark: url.mark,
                url: Some(url),
                ..now.clone()
            });
        }
        Ok(())
    }

    fn long(&mut self, name: &str, word: &Word) -> Result<(), SyntaxError> {
        let (name, joined) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (name, None),
        };
        let positive = name
            .strip_prefix("no-")
            .filter(|_| options::long(name).is_none());
        if let Some(known) = positive
            .and_then(options::long)
            .filter(|known| !known.takes)
        {
            self.now.passed.push(format!("--no-{}", known.name));
            return Ok(());
        }
        let Some(known) = options::long(name) else {
            let hint = nearest::hint(name, options::names());
            return Err(refused(
                word.mark,
                &format!("curl's option --{name} is not supported: remove it{hint}"),
            ));
        };
        let value = match (known.takes, joined) {
            (true, Some(value)) => Some(Word {
                text: value.to_owned(),
                mark: word.mark,
            }),
            (true, None) => Some(self.value(&format!("--{name}"), word)?),
            (false, _) => None,
        };
        self.take(known, value, word, &format!("--{name}"))
    }

    fn short(&mut self, letters: &str, word: &Word) -> Result<(), SyntaxError> {
        let mut rest = letters;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            let name = format!("-{letter}");
            let Some(known) = options::short(letter) else {
                return Err(refused(
                    word.mark,
                    &format!("curl's option {name} is not supported: remove it"),
                ));
            };
            let value = match known.takes {
                false => None,
                true if rest.is_empty() => Some(self.value(&name, word)?),
                true => Some(Word {
                    text: std::mem::take(&mut rest).to_owned(),
                    mark: word.mark,
                }),
            };
            self.take(known, value, word, &name)?;
        }
        Ok(())
    }

    fn value(&mut self, name: &str, word: &Word) -> Result<Word, SyntaxError> {
        let value = self.words.next().cloned();
        value.ok_or_else(|| refused(word.mark, &format!("{name} needs a value")))
    }

    fn take(
        &mut self,
        known: CurlOption,
        value: Option<Word>,
        word: &Word,
        name: &str,
    ) -> Result<(), SyntaxError> {
        match known.meaning {
            Meaning::Refused(reason) => {
                return Err(refused(word.mark, &format!("{name}: {reason}")));
            }
            Meaning::Nothing => {
                self.now.passed.push(name.to_owned());
                return Ok(());
            }
            Meaning::Says => {}
        }
        let Some(value) = value else {
            match known.name {
                "get" => self.now.get = true,
                "head" => self.now.head = true,
                "insecure" => self.now.insecure = true,
                "location" | "location-trusted" => self.now.follow = true,
                "compressed" => self.now.compressed = true,
                _ => self.finish()?,
            }
            return Ok(());
        };
        match known.name {
            "request" => self.now.method = Some(value),
            "header" => self.now.headers.push(value),
            "user" => self.now.user = Some(value),
            "cookie" => self.now.cookies.push(value),
            "url" => self.urls.push(value),
            "url-query" => self.now.url_query.push(value),
            "oauth2-bearer" => self.now.bearer = Some(value),
            "user-agent" => self.header("user-agent", value),
            "referer" => self.header("referer", value),
            "range" => {
                let text = format!("bytes={}", value.text);
                self.header("range", Word { text, ..value });
            }
            "max-redirs" => {
                let most = value.text.parse().map_err(|_| {
                    refused(
                        value.mark,
                        &format!("{name} must be a number of redirects, not `{}`", value.text),
                    )
                })?;
                self.now.max_redirects = Some(most);
            }
            "max-time" => {
                let seconds = value
                    .text
                    .parse::<f64>()
                    .ok()
                    .filter(|s| (0.001..=86_400.0).contains(s));
                let seconds = seconds.ok_or_else(|| {
                    refused(
                        value.mark,
                        &format!("{name} must be a number of seconds, not `{}`", value.text),
                    )
                })?;
                self.now.max_time = Some(format!("{}ms", (seconds * 1000.0).round()));
            }
            how @ ("form" | "form-string") => self.now.parts.push(BodyPiece { how, word: value }),
            how @ ("resolve" | "unix-socket" | "cacert" | "cert" | "key") => {
                self.now.travel.push(BodyPiece { how, word: value });
            }
            how => self.now.data.push(BodyPiece { how, word: value }),
        }
        Ok(())
    }

    fn header(&mut self, name: &str, value: Word) {
        let text = format!("{name}: {}", value.text);
        self.now.headers.push(Word { text, ..value });
    }
}

pub fn refused(mark: Mark, message: &str) -> SyntaxError {
    SyntaxError {
        mark,
        message: message.to_owned(),
    }
}
