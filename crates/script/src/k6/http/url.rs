//! `http.url`: URLs whose variable parts are not part of the request's name.

use rquickjs::{
    Array, Class, Coerced, Ctx, Object, Result,
    object::Accessor,
    prelude::{Func, Rest, This},
};

use crate::js::edge::{Native, native_class};

/// A URL and the name of its requests.
pub struct NamedUrl {
    pub url: String,
    pub name: String,
}

type UrlInstance<'js> = Class<'js, Native<NamedUrl>>;

native_class!(NamedUrl, "URL", add_methods);

/// Adds the methods to the prototype.
fn add_methods<'js>(prototype: &Object<'js>) -> Result<()> {
    let url = |this: This<UrlInstance<'js>>| this.0.borrow().0.url.clone();
    let name = |this: This<UrlInstance<'js>>| this.0.borrow().0.name.clone();
    prototype.prop("url", Accessor::from(url).enumerable())?;
    prototype.prop("name", Accessor::from(name).enumerable())?;
    prototype.set("toString", Func::from(url))?;
    Ok(())
}

/// Adds `url` to the module.
pub fn define<'js>(module: &Object<'js>) -> Result<()> {
    module.set("url", Func::from(tagged_template))
}

fn tagged_template<'js>(
    ctx: Ctx<'js>,
    parts: Array<'js>,
    values: Rest<Coerced<String>>,
) -> Result<UrlInstance<'js>> {
    let (mut url, mut name) = (String::new(), String::new());
    for (index, part) in parts.iter::<String>().enumerate() {
        let part = part?;
        url.push_str(&part);
        name.push_str(&part);
        if let Some(value) = values.get(index) {
            url.push_str(&value.0);
            name.push_str("${}");
        }
    }
    Class::instance(ctx, Native(NamedUrl { url, name }))
}
