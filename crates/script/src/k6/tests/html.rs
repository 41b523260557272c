//! `k6/html`, forms and links.

use super::fixture::{Fixture, ok, output_of};

const PAGE: &str = r#"<html><head><title>Shop &amp; more</title></head><body>
<ul id="list" data-user-id="7" data-flags='{"a":true}'>
<li class="one first">One</li><li class="two">Two <b>bold</b></li><li>Three</li></ul>
<a href="/next?x=1" rel="nofollow">next</a>
<form action="/login" method="post" id="login">
<input name="user" value="u"><input type="hidden" name="token" value="t&amp;1">
<input type="checkbox" name="keep" checked><input type="checkbox" name="no">
<select name="lang"><option value="de">D</option><option selected>en</option></select>
<textarea name="note">text</textarea><input type="submit" name="go" value="Go"></form>
<form class="search"><input name="q" value="a b"></form></body></html>"#;

fn script(body: &str) -> String {
    let page = serde_json::Value::from(PAGE);
    format!(
        "import {{ parseHTML }} from 'k6/html';
        const page = {page};
        export default function () {{ const doc = parseHTML(page); {body} }}"
    )
}

#[test]
fn selections_find_elements_like_jquery() {
    let lines = output_of(&script(
        "const li = doc.find('li');
        console.log(doc.find('title').text(), li.size(), li.first().text(), li.last().text(), li.eq(-2).html());
        console.log(doc.find('ul').children('.two').text(), li.eq(1).prev().text(), li.eq(0).next().attr('class'), li.eq(0).nextAll().size());
        console.log(li.map((i, e) => `${i}${e.textContent()}`).join(), li.filter('.one').size(), li.not('.one').size(), li.is('.two'));
        console.log(li.filter((i) => i > 0).size(), doc.find('b').closest('li').attr('class'), doc.find('b').parents().size(), li.has('b').size());
        console.log(doc.find('ul').data('user-id') + 1, doc.find('ul').data().flags.a, li.attr('none'), li.attr('none', 'd'));
        console.log(li.eq(1).index(), li.slice(1).size(), li.toArray().length, li.get(0).id() === '', li.end().size(), li.first().nextUntil(li.last()).size());
        let seen = ''; li.each((i, e) => { seen += e.nodeName() + e.classList().length; });
        console.log(seen, doc.find('a').get(0).href(), doc.find('a').get(0).getAttribute('rel'), doc.find('li b').parent().text());
        try { doc.find('li['); } catch (e) { console.log(e.message); }",
    ));
    assert_eq!(
        lines,
        [
            "Shop & more 3 One Three Two <b>bold</b>",
            "Two bold One two 2",
            "0One,1Two bold,2Three 1 2 true",
            "2 two 4 1",
            "8 true undefined d",
            "1 2 3 true 1 1",
            "li2li1li0 /next?x=1 nofollow Two bold",
            "'li[' is not a supported CSS selector",
        ]
    );
}

#[test]
fn forms_are_serialized() {
    assert_eq!(
        output_of(&script(
            "const form = doc.find('#login');
            console.log(form.serialize());
            console.log(JSON.stringify(form.serializeObject()), form.serializeArray().length);
            console.log(doc.find('select').val(), doc.find('textarea').val(), doc.find('[name=token]').val());",
        )),
        [
            "user=u&token=t%261&keep=on&lang=en&note=text",
            "{\"user\":\"u\",\"token\":\"t&1\",\"keep\":\"on\",\"lang\":\"en\",\"note\":\"text\"} 5",
            "en text t&1",
        ]
    );
}

#[test]
fn forms_are_submitted_and_links_are_clicked() {
    let fixture = Fixture::new(
        "import http from 'k6/http';
        export default function () {
            const res = http.get('http://a.test/dir/page');
            console.log(res.html('title').text(), res.html().find('li').size());
            res.submitForm({ fields: { user: 'me' }, params: { headers: { 'x-a': '1' } } });
            res.submitForm({ formSelector: '.search', fields: { n: 2 } });
            res.clickLink();
            for (const run of [() => res.clickLink({ selector: 'p' }), () => res.submitForm({ formSelector: 'p' }), () => res.clickLink({ selector: 'li' })])
                try { run(); } catch (e) { console.log(e.message); }
        }",
    );
    fixture.answer(|_| ok(PAGE));
    fixture.complete();
    let sent = fixture.host.sent.borrow();
    let sent: Vec<String> = sent
        .iter()
        .map(|request| {
            let body = request.body.clone().unwrap_or_default();
            let body = String::from_utf8(body).unwrap();
            format!("{} {} {body}", request.method, request.url)
        })
        .collect();
    assert_eq!(
        sent,
        [
            "GET http://a.test/dir/page ",
            "POST http://a.test/login go=Go&keep=on&lang=en&note=text&token=t%261&user=me",
            "GET http://a.test/dir/page?q=a+b&n=2 ",
            "GET http://a.test/next?x=1 ",
        ]
    );
    assert_eq!(
        fixture.logs(),
        [
            "Info Shop & more 3 source=console",
            "Info no element found for selector 'p' in response 'http://a.test/dir/page' source=console",
            "Info no form found for selector 'p' in response 'http://a.test/dir/page' source=console",
            "Info no valid href attribute value found on element 'li' in response 'http://a.test/dir/page' source=console",
        ]
    );
}

#[test]
fn documents_that_would_block_the_worker_are_refused() {
    let fixture = Fixture::new(
        "import { parseHTML } from 'k6/html';
        import http from 'k6/http';
        const attempt = (run) => { try { console.log(run()); } catch (e) { console.log(e.message); } };
        export default function () {
            attempt(() => parseHTML('<div>'.repeat(510)).find('div').size());
            attempt(() => parseHTML('<div>'.repeat(200000)).find('div').text());
            attempt(() => parseHTML('<br>'.repeat(200000)).html());
            const res = http.get('http://a.test/');
            attempt(() => res.html());
            attempt(() => res.submitForm());
            attempt(() => res.clickLink());
        }",
    );
    fixture.answer(|_| ok(&"<div>".repeat(200_000)));
    fixture.complete();
    let deep = "Info the HTML document is nested more than 512 levels deep source=console";
    let wide = "Info the HTML document has more than 200000 nodes source=console";
    assert_eq!(
        fixture.logs(),
        ["Info 510 source=console", deep, wide, deep, deep, deep]
    );
}
