use crate::support::{evaluated, golden, read, refusal, requests, text};

#[test]
fn a_url_is_one_request() {
    let draft = init::from_url("https://www.shop.example/cart?page=2").unwrap();
    assert_eq!(draft.file_name(), "shop.yml");
    assert_eq!(draft.in_short(), "1 request to https://www.shop.example");
    golden("url.yml", &text(draft));
}

#[test]
fn passwords_and_tokens_of_a_url_come_from_the_environment() {
    let draft = init::from_url("http://me:s3cret@127.0.0.1:8080/a?token=t0ken&x={{y}}").unwrap();
    let exports: Vec<_> = draft
        .unknowns()
        .iter()
        .map(|unknown| unknown.env.clone())
        .collect();
    assert_eq!(exports, ["token", "password"].map(str::to_uppercase));
    assert_eq!(draft.file_name(), "127.0.0.1.yml");
    let (text, plan) = read(draft);
    assert!(
        !text.contains("s3cret") && !text.contains("t0ken"),
        "{text}"
    );
    assert_eq!(
        evaluated(&plan, &requests(&plan)[0].url, &[]),
        "/a?token=filled in&x={{y}}"
    );
}

#[test]
fn invalid_url_is_refused_in_one_line() {
    assert_eq!(
        refusal(init::from_url("ftp://a/")),
        "`ftp://a/` is not a URL that starts with http:// or https://"
    );
}
