//! Elements: nodes of a document with the methods of the DOM that k6 has.

use std::rc::Rc;

use query::markup::{NodeId, ROOT, Tree};
use rquickjs::{
    Class, Coerced, Ctx, Object, Result, Value as Js,
    prelude::{Func, Rest, This},
};

use super::{array, forms, selector, steps};
use crate::js::{
    edge::{Native, native_class},
    values::text_to_js,
};

/// A node of a document.
pub struct Element {
    pub tree: Rc<Tree>,
    pub node: NodeId,
}

type ElementInstance<'js> = Class<'js, Native<Element>>;
type Method = for<'a, 'js> fn(&'a Ctx<'js>, &'a Element, &'a [Js<'js>]) -> Result<Js<'js>>;

/// Methods that return the attribute with the same name, in lower case.
const ATTRIBUTES: [&str; 26] = [
    "accept",
    "action",
    "alt",
    "autocomplete",
    "charset",
    "content",
    "coords",
    "dir",
    "encoding",
    "enctype",
    "form",
    "height",
    "href",
    "lang",
    "max",
    "media",
    "method",
    "min",
    "name",
    "pattern",
    "placeholder",
    "rel",
    "src",
    "target",
    "title",
    "type",
];

/// Methods that return whether the attribute with the same name exists.
const FLAGS: [&str; 8] = [
    "autofocus",
    "checked",
    "disabled",
    "hidden",
    "multiple",
    "readonly",
    "required",
    "selected",
];

native_class!(Element, "Element", add_methods);

/// Adds the methods to the prototype.
fn add_methods<'js>(prototype: &Object<'js>) -> Result<()> {
    for (name, method) in METHODS {
        let call = move |ctx: Ctx<'js>, this: This<ElementInstance<'js>>, values: Rest<Js<'js>>| {
            method(&ctx, &this.0.borrow().0, &values.0)
        };
        prototype.set(name, Func::from(call))?;
    }
    for name in ATTRIBUTES {
        let call = move |ctx: Ctx<'js>, this: This<ElementInstance<'js>>| {
            let this = this.0.borrow();
            text_to_js(&ctx, this.0.attribute(name).unwrap_or_default())
        };
        prototype.set(name, Func::from(call))?;
    }
    for name in FLAGS {
        let call =
            move |this: This<ElementInstance<'js>>| this.0.borrow().0.attribute(name).is_some();
        prototype.set(name, Func::from(call))?;
    }
    Ok(())
}

/// Creates the element of a node.
pub fn create<'js>(ctx: &Ctx<'js>, tree: &Rc<Tree>, node: NodeId) -> Result<Js<'js>> {
    let element = Element {
        tree: Rc::clone(tree),
        node,
    };
    Ok(Class::instance(ctx.clone(), Native(element))?.into_value())
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.tree.attribute(self.node, name)
    }

    fn optional<'js>(&self, ctx: &Ctx<'js>, node: Option<NodeId>) -> Result<Js<'js>> {
        match node {
            Some(node) => create(ctx, &self.tree, node),
            None => Ok(Js::new_null(ctx.clone())),
        }
    }

    fn list<'js>(&self, ctx: &Ctx<'js>, nodes: &[NodeId]) -> Result<Js<'js>> {
        let elements = nodes.iter().map(|node| create(ctx, &self.tree, *node));
        array(ctx, elements.collect::<Result<_>>()?)
    }

    /// Returns the node before or after this one. Text nodes count.
    fn neighbour(&self, offset: isize) -> Option<NodeId> {
        let all = self.tree.children(self.tree.parent(self.node)?);
        let at = all.iter().position(|id| *id == self.node)?;
        all.get(at.checked_add_signed(offset)?).copied()
    }

    fn found<'js>(&self, ctx: &Ctx<'js>, values: &[Js<'js>]) -> Result<Vec<NodeId>> {
        let text = argument(values)?;
        let inside = steps::inside(&self.tree, &[self.node]);
        let mut found = selector(ctx, &text)?.elements(&self.tree);
        found.retain(|id| inside.contains(id));
        Ok(found)
    }
}

/// Returns the first argument as text.
fn argument(values: &[Js<'_>]) -> Result<String> {
    let text = values.first().map(|value| value.get::<Coerced<String>>());
    Ok(text.transpose()?.map_or(String::new(), |text| text.0))
}

fn optional_text<'js>(ctx: &Ctx<'js>, text: Option<&str>) -> Result<Js<'js>> {
    match text {
        Some(text) => text_to_js(ctx, text),
        None => Ok(Js::new_null(ctx.clone())),
    }
}

const METHODS: [(&str, Method); 33] = [
    ("nodeName", |ctx, of, _| {
        text_to_js(ctx, of.tree.name(of.node).unwrap_or("#text"))
    }),
    ("nodeType", |ctx, of, _| {
        let kind = match of.tree.name(of.node) {
            Some(_) => 1,
            None if of.node == ROOT => 9,
            None if of.tree.is_text(of.node) => 3,
            None => 8,
        };
        Ok(Js::new_int(ctx.clone(), kind))
    }),
    ("nodeValue", |ctx, of, _| match of.tree.is_text(of.node) {
        true => text_to_js(ctx, &of.tree.text(of.node)),
        false => Ok(Js::new_null(ctx.clone())),
    }),
    ("innerHTML", |ctx, of, _| {
        text_to_js(ctx, &of.tree.inner_html(of.node))
    }),
    ("textContent", |ctx, of, _| {
        text_to_js(ctx, &of.tree.text(of.node))
    }),
    ("text", |ctx, of, _| text_to_js(ctx, &of.tree.text(of.node))),
    ("toString", |ctx, of, _| {
        text_to_js(ctx, &of.tree.outer_html(of.node))
    }),
    ("id", |ctx, of, _| {
        text_to_js(ctx, of.attribute("id").unwrap_or_default())
    }),
    ("className", |ctx, of, _| {
        text_to_js(ctx, of.attribute("class").unwrap_or_default())
    }),
    ("classList", |ctx, of, _| {
        let names = of.attribute("class").unwrap_or_default().split_whitespace();
        array(
            ctx,
            names
                .map(|name| text_to_js(ctx, name))
                .collect::<Result<_>>()?,
        )
    }),
    ("getAttribute", |ctx, of, values| {
        optional_text(ctx, of.attribute(&argument(values)?))
    }),
    ("hasAttribute", |ctx, of, values| {
        Ok(Js::new_bool(
            ctx.clone(),
            of.attribute(&argument(values)?).is_some(),
        ))
    }),
    ("hasAttributes", |ctx, of, _| {
        Ok(Js::new_bool(
            ctx.clone(),
            !of.tree.attributes(of.node).is_empty(),
        ))
    }),
    ("attributes", |ctx, of, _| {
        let object = Object::new(ctx.clone())?;
        for (name, value) in of.tree.attributes(of.node) {
            let attribute = Object::new(ctx.clone())?;
            attribute.set("name", name.as_str())?;
            attribute.set("value", value.as_str())?;
            object.set(name.as_str(), attribute)?;
        }
        Ok(object.into_value())
    }),
    ("value", |ctx, of, _| {
        let values = forms::values(&of.tree, of.node);
        text_to_js(ctx, values.first().map_or("", String::as_str))
    }),
    ("children", |ctx, of, _| {
        of.list(ctx, &steps::children(&of.tree, of.node))
    }),
    ("childNodes", |ctx, of, _| {
        of.list(ctx, of.tree.children(of.node))
    }),
    ("childElementCount", |ctx, of, _| {
        let count = steps::children(&of.tree, of.node).len();
        Ok(Js::new_int(ctx.clone(), count as i32))
    }),
    ("hasChildNodes", |ctx, of, _| {
        Ok(Js::new_bool(
            ctx.clone(),
            !of.tree.children(of.node).is_empty(),
        ))
    }),
    ("firstChild", |ctx, of, _| {
        of.optional(ctx, of.tree.children(of.node).first().copied())
    }),
    ("lastChild", |ctx, of, _| {
        of.optional(ctx, of.tree.children(of.node).last().copied())
    }),
    ("firstElementChild", |ctx, of, _| {
        of.optional(ctx, steps::children(&of.tree, of.node).first().copied())
    }),
    ("lastElementChild", |ctx, of, _| {
        of.optional(ctx, steps::children(&of.tree, of.node).last().copied())
    }),
    ("nextSibling", |ctx, of, _| {
        of.optional(ctx, of.neighbour(1))
    }),
    ("previousSibling", |ctx, of, _| {
        of.optional(ctx, of.neighbour(-1))
    }),
    ("nextElementSibling", |ctx, of, _| {
        of.optional(ctx, steps::next(&of.tree, of.node).first().copied())
    }),
    ("previousElementSibling", |ctx, of, _| {
        of.optional(ctx, steps::previous(&of.tree, of.node).first().copied())
    }),
    ("parentElement", |ctx, of, _| {
        of.optional(ctx, steps::parent(&of.tree, of.node).first().copied())
    }),
    ("parentNode", |ctx, of, _| {
        of.optional(ctx, of.tree.parent(of.node))
    }),
    ("querySelector", |ctx, of, values| {
        of.optional(ctx, of.found(ctx, values)?.first().copied())
    }),
    ("querySelectorAll", |ctx, of, values| {
        of.list(ctx, &of.found(ctx, values)?)
    }),
    ("matches", |ctx, of, values| {
        let all = selector(ctx, &argument(values)?)?.elements(&of.tree);
        Ok(Js::new_bool(ctx.clone(), all.contains(&of.node)))
    }),
    ("isSameNode", |ctx, of, values| {
        let other = values
            .first()
            .and_then(Js::as_object)
            .and_then(ElementInstance::from_object);
        let is_same = other.is_some_and(|other| {
            let other = other.borrow();
            Rc::ptr_eq(&other.0.tree, &of.tree) && other.0.node == of.node
        });
        Ok(Js::new_bool(ctx.clone(), is_same))
    }),
];
