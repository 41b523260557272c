//! Pages in responses: `html`, `submitForm` and `clickLink`.

use std::rc::Rc;

use rquickjs::{Coerced, Ctx, FromJs, Object, Result, Value as Js};

use super::{
    super::{errors::throw, html, state::State},
    arguments::HttpCall,
    params::ResponseType,
    perform::Finished,
    request,
};
use crate::js::values::text_to_js;

/// Returns the text of a response.
fn page<'a>(ctx: &Ctx<'_>, finished: &'a Finished) -> Result<std::borrow::Cow<'a, str>> {
    let is_missing = finished.outcome.status == 0
        || finished.outcome.error.is_some()
        || finished.response_type == ResponseType::None;
    if is_missing {
        return Err(throw(
            ctx,
            "the body is null so we can't transform it to HTML - this likely was because of a \
             request error getting the response",
        ));
    }
    Ok(String::from_utf8_lossy(&finished.outcome.body))
}

/// Returns the document, or the elements in it that a selector finds.
pub fn html_of<'js>(
    ctx: &Ctx<'js>,
    finished: &Finished,
    selector: Option<Js<'js>>,
) -> Result<Js<'js>> {
    let document = html::document(ctx, &page(ctx, finished)?)?;
    let selector = selector.filter(|selector| !selector.is_undefined());
    match (selector, document.as_object()) {
        (Some(selector), Some(object)) => {
            let find: rquickjs::Function<'js> = object.get("find")?;
            find.call((rquickjs::function::This(document.clone()), selector))
        }
        _ => Ok(document),
    }
}

/// Reads an option. A missing option is `None`.
fn option<'js, T: FromJs<'js>>(options: &Option<Object<'js>>, name: &str) -> Result<Option<T>> {
    let Some(options) = options else {
        return Ok(None);
    };
    let value: Js<'js> = options.get(name)?;
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    T::from_js(options.ctx(), value).map(Some)
}

/// Submits a form of the page.
pub fn submit_form<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<State>,
    finished: &Finished,
    options: Option<Js<'js>>,
) -> Result<Js<'js>> {
    let options = options.and_then(Js::into_object);
    let form: Option<Coerced<String>> = option(&options, "formSelector")?;
    let form = form.map_or("form".to_owned(), |form| form.0);
    let submit: Option<Coerced<String>> = option(&options, "submitSelector")?;
    let submit = submit.map_or("[type=\"submit\"]".to_owned(), |submit| submit.0);
    let tree = html::parse(ctx, &page(ctx, finished)?)?;
    let (selector, button) = (html::selector(ctx, &form)?, html::selector(ctx, &submit)?);
    let Some(found) = html::form_request(&tree, &selector, &button) else {
        let message = format!(
            "no form found for selector '{form}' in response '{}'",
            finished.request.url
        );
        return Err(throw(ctx, &message));
    };
    let fields = Object::new(ctx.clone())?;
    for (name, value) in &found.fields {
        fields.set(name.as_str(), value.as_str())?;
    }
    let own: Option<Object<'js>> = option(&options, "fields")?;
    if let Some(own) = own {
        for entry in own.props::<String, Js<'js>>() {
            let (name, value) = entry?;
            fields.set(name, value)?;
        }
    }
    let mut url = resolve(ctx, finished, found.action.as_deref().unwrap_or(""))?;
    let mut body = fields.clone().into_value();
    if found.method == "GET" {
        let mut query = String::new();
        for entry in fields.props::<String, Coerced<String>>() {
            let (name, value) = entry?;
            codec::url::push_pair(&mut query, &name, &value.0);
        }
        url = url.split(['?', '#']).next().unwrap_or_default().to_owned();
        if !query.is_empty() {
            url = format!("{url}?{query}");
        }
        body = Js::new_null(ctx.clone());
    }
    let params: Option<Js<'js>> = option(&options, "params")?;
    let call = HttpCall {
        method: found.method,
        url: text_to_js(ctx, &url)?,
        body,
        params: params.unwrap_or_else(|| Js::new_undefined(ctx.clone())),
    };
    request(ctx, state, call)
}

/// Follows a link of the page.
pub fn click_link<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<State>,
    finished: &Finished,
    options: Option<Js<'js>>,
) -> Result<Js<'js>> {
    let options = options.and_then(Js::into_object);
    let selector: Option<Coerced<String>> = option(&options, "selector")?;
    let selector = selector.map_or("a[href]".to_owned(), |selector| selector.0);
    let tree = html::parse(ctx, &page(ctx, finished)?)?;
    let found = html::selector(ctx, &selector)?.elements(&tree);
    let shown = &finished.request.url;
    let Some(link) = found.first() else {
        let message = format!("no element found for selector '{selector}' in response '{shown}'");
        return Err(throw(ctx, &message));
    };
    let Some(href) = tree.attribute(*link, "href") else {
        let message = format!(
            "no valid href attribute value found on element '{selector}' in response '{shown}'"
        );
        return Err(throw(ctx, &message));
    };
    let url = resolve(ctx, finished, href)?;
    let params: Option<Js<'js>> = option(&options, "params")?;
    let call = HttpCall {
        method: "GET".to_owned(),
        url: text_to_js(ctx, &url)?,
        body: Js::new_null(ctx.clone()),
        params: params.unwrap_or_else(|| Js::new_undefined(ctx.clone())),
    };
    request(ctx, state, call)
}

fn resolve(ctx: &Ctx<'_>, finished: &Finished, reference: &str) -> Result<String> {
    match codec::url::join(&finished.request.url, reference) {
        Some((url, _)) => Ok(url),
        None => Err(throw(ctx, &format!("invalid URL: {reference}"))),
    }
}
