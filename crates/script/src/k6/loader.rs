//! Loads the modules of a virtual user: built-in modules, files, and `require`.

use std::{rc::Rc, sync::Arc};

use rquickjs::{
    Ctx, Error, Exception, Function, Module, Object, Persistent, Result, Value as Js,
    function::This,
    loader::{ImportAttributes, Loader, Resolver},
    module::Declared,
    prelude::Func,
};

use super::{
    errors::throw,
    names,
    shared::{Shared, Source, SourceError, SourceKind},
    state::{Stage, State},
    surface,
};
use crate::js::{
    edge::Code,
    modules::{REQUIRE, WRAPPED, bridge, compile},
};

/// The modules of a virtual user.
#[derive(Clone)]
pub struct Modules(pub Rc<State>);

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        if self.0.stage.get() == Stage::Running {
            let message = "import() is not supported: import the module at the top of the file";
            return Err(throw(ctx, message));
        }
        // The script itself is imported by its full name.
        if name == self.0.shared.main {
            return Ok(name.to_owned());
        }
        let base = base.strip_prefix(WRAPPED).unwrap_or(base);
        self.0
            .shared
            .resolve(base, name)
            .map_err(|message| throw(ctx, &message))
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        if !names::is_native(name) {
            let source = self.source(ctx, name)?;
            if source.kind == SourceKind::Module {
                return declare(ctx, name, &source, &self.0.shared);
            }
        }
        let exports = self.load_object(ctx, name)?;
        Module::declare(ctx.clone(), name, bridge(name, &exports)?)
    }
}

/// Declares an ES module. The first virtual user compiles it.
fn declare<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    source: &Source,
    shared: &Arc<Shared>,
) -> Result<Module<'js, Declared>> {
    let module = match source.code.get() {
        Some(code) => code.declare(ctx)?,
        None => {
            let module = Module::declare(ctx.clone(), name, source.text.as_str())?;
            let _ = source.code.set(Code::new(&module)?);
            module
        }
    };
    let meta = module.meta()?;
    meta.set("url", name)?;
    let (base, shared) = (name.to_owned(), Arc::clone(shared));
    let resolve = move |ctx: Ctx<'js>, specifier: String| {
        shared
            .resolve(&base, &specifier)
            .map_err(|message| throw(&ctx, &message))
    };
    meta.set("resolve", Func::from(resolve))?;
    Ok(module)
}

impl Modules {
    /// Defines `require` and the function through which ES modules access other modules.
    pub fn attach(&self, ctx: &Ctx<'_>) -> Result<()> {
        let own = self.clone();
        let load = move |ctx: Ctx<'_>, name: String| -> Result<Persistent<Js<'static>>> {
            let value = own.load_object(&ctx, &name)?;
            Ok(Persistent::save(&ctx, value))
        };
        ctx.globals()
            .prop(REQUIRE, Function::new(ctx.clone(), load)?)?;
        let own = self.clone();
        let require = move |ctx: Ctx<'_>, name: String| own.require(&ctx, &name);
        ctx.globals().set("require", Func::from(require))
    }

    fn require(&self, ctx: &Ctx<'_>, name: &str) -> Result<Persistent<Js<'static>>> {
        self.0.require_init(ctx, &only_in_init("require"))?;
        let base = caller(ctx).unwrap_or_else(|| self.0.shared.main.clone());
        let name = self
            .0
            .shared
            .resolve(&base, name)
            .map_err(|message| throw(ctx, &message))?;
        let value = self.load_object(ctx, &name)?;
        Ok(Persistent::save(ctx, value))
    }

    fn source(&self, ctx: &Ctx<'_>, name: &str) -> Result<std::sync::Arc<Source>> {
        let source = self.0.shared.source(name);
        source.map_err(|error| throw_at(ctx, name, &error))
    }

    /// Returns the exports of a module, for `require`.
    fn load_object<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Js<'js>> {
        let known = self.0.modules.borrow().get(name).cloned();
        if let Some(module) = known {
            return module.restore(ctx)?.get("exports");
        }
        let module = Object::new(ctx.clone())?;
        if names::is_native(name) {
            module.set("exports", surface::module(ctx, &self.0, name)?)?;
            self.keep(ctx, name, &module);
            return module.get("exports");
        }
        let source = self.source(ctx, name)?;
        match source.kind {
            SourceKind::Module => {
                let namespace: Js<'js> = Module::import(ctx, name)?.finish()?;
                return Ok(namespace);
            }
            SourceKind::Json => {
                module.set("exports", ctx.json_parse(source.text.as_str())?)?;
                self.keep(ctx, name, &module);
            }
            SourceKind::CommonJs => self.run(ctx, name, &source, &module)?,
        }
        module.get("exports")
    }

    fn run<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        source: &Source,
        module: &Object<'js>,
    ) -> Result<()> {
        let exports = Object::new(ctx.clone())?.into_value();
        module.set("exports", exports.clone())?;
        let wrapper = compile(ctx, name, &source.text)?;
        self.keep(ctx, name, module);
        let path = names::shown(name);
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let require: Js<'js> = ctx.globals().get("require")?;
        let arguments = (
            This(exports.clone()),
            exports,
            require,
            module.clone(),
            path,
            folder,
        );
        let called: Result<()> = wrapper.call(arguments);
        if called.is_err() {
            self.0.modules.borrow_mut().remove(name);
        }
        called
    }

    fn keep<'js>(&self, ctx: &Ctx<'js>, name: &str, module: &Object<'js>) {
        let kept = Persistent::save(ctx, module.clone());
        self.0.modules.borrow_mut().insert(name.to_owned(), kept);
    }
}

/// Returns the name of the module that is calling a native function.
pub fn caller(ctx: &Ctx<'_>) -> Option<String> {
    let name = (0..3).find_map(|level| ctx.script_or_module_name(level));
    let name = name?.to_string().ok()?;
    Some(name.strip_prefix(WRAPPED).unwrap_or(&name).to_owned())
}

/// Returns k6's text for a function that was called outside of the init code.
pub fn only_in_init(function: &str) -> String {
    format!(
        "the \"{function}\" function is only available in the init stage (i.e. the global scope), \
         see https://grafana.com/docs/k6/latest/using-k6/test-lifecycle/ for more information"
    )
}

fn throw_at(ctx: &Ctx<'_>, name: &str, error: &SourceError) -> Error {
    let thrown = match Exception::from_message(ctx.clone(), &error.message) {
        Ok(thrown) => thrown,
        Err(error) => return error,
    };
    let at = format!("    at {name}:{}:{}\n", error.line, error.column);
    let _ = thrown.as_object().set("stack", at);
    thrown.throw()
}
