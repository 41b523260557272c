//! Access to the memory of the JavaScript engine, and the stacks on which waiting code is
//! suspended.
//!
//! A [`Fiber`] runs JavaScript on a separate stack. A native function that must wait suspends the
//! fiber through its [`Waiter`]. The worker polls the future on its own stack, and then resumes the
//! fiber. Each fiber has its own JavaScript runtime, because the engine stores the chain of its
//! stack frames in the runtime.

#![allow(unsafe_code)]

use std::{
    cell::{Cell, RefCell},
    io,
    pin::{Pin, pin},
    ptr::NonNull,
    rc::Rc,
    task::{Context as TaskContext, Poll, Waker},
};

use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};
use rquickjs::{
    ArrayBuffer, Context, Ctx, Error, Exception, JsLifetime, Module, Result, TypedArray,
    class::{Trace, Tracer},
    module::{Declared, WriteOptions},
    qjs,
};

/// Size of a fiber's stack. Only the parts that are written use memory.
const STACK: usize = SCRIPT_STACK + (256 << 10);
/// Stack size for JavaScript. The rest is for the native code that it calls.
pub const SCRIPT_STACK: usize = 1 << 20;
/// Maximum number of unused stacks that a thread keeps.
const MOST_POOLED: usize = 4096;

thread_local! {
    static POOL: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Copies the content of a `Uint8Array`. Returns nothing if its buffer was detached.
pub fn bytes(array: &TypedArray<'_, u8>) -> Vec<u8> {
    // SAFETY: the slice is copied before any JavaScript can run.
    unsafe { array.as_bytes() }.map_or_else(Vec::new, <[u8]>::to_vec)
}

/// Copies the content of an `ArrayBuffer`. Returns nothing if it was detached.
pub fn buffer_bytes(buffer: &ArrayBuffer<'_>) -> Vec<u8> {
    // SAFETY: the slice is copied before any JavaScript can run.
    unsafe { buffer.as_bytes() }.map_or_else(Vec::new, <[u8]>::to_vec)
}

/// Writes bytes into an `ArrayBuffer`. Returns `false` if it is too short or was detached.
pub fn write_bytes(buffer: &ArrayBuffer<'_>, offset: usize, bytes: &[u8]) -> bool {
    let Some(mut content) = buffer.as_raw() else {
        return false;
    };
    // SAFETY: no JavaScript runs while the slice exists, and nothing else refers to the buffer.
    let content = unsafe { content.as_mut() };
    let end = offset.checked_add(bytes.len());
    match end.and_then(|end| content.get_mut(offset..end)) {
        Some(place) => {
            place.copy_from_slice(bytes);
            true
        }
        None => false,
    }
}

/// A Rust value inside a JavaScript object.
pub struct Native<T: 'static>(pub T);

// SAFETY: the value is `'static`, so it contains no reference to a runtime.
unsafe impl<'js, T: 'static> JsLifetime<'js> for Native<T> {
    type Changed<'to> = Native<T>;
}

impl<'js, T: 'static> Trace<'js> for Native<T> {
    fn trace<'a>(&self, _: Tracer<'a, 'js>) {}
}

/// Makes a Rust type the content of a JavaScript class: `(Type, "Name", fill)`, where `fill` adds
/// the methods to the prototype.
macro_rules! native_class {
    ($content:ty, $name:literal, $fill:expr) => {
        impl<'js> rquickjs::class::JsClass<'js> for $crate::js::edge::Native<$content> {
            const NAME: &'static str = $name;
            type Mutable = rquickjs::class::Readable;

            fn prototype(
                ctx: &rquickjs::Ctx<'js>,
            ) -> rquickjs::Result<Option<rquickjs::Object<'js>>> {
                let prototype = rquickjs::Object::new(ctx.clone())?;
                let fill: fn(&rquickjs::Object<'js>) -> rquickjs::Result<()> = $fill;
                fill(&prototype)?;
                Ok(Some(prototype))
            }

            fn constructor(
                _: &rquickjs::Ctx<'js>,
            ) -> rquickjs::Result<Option<rquickjs::function::Constructor<'js>>> {
                Ok(None)
            }
        }
    };
}
pub(crate) use native_class;

/// Bytecode of a module that this process has compiled.
pub struct Code(Vec<u8>);

impl Code {
    /// Writes the bytecode of a module.
    pub fn new(module: &Module<'_, Declared>) -> Result<Code> {
        module.write(WriteOptions::default()).map(Code)
    }

    /// Declares the module in another context.
    pub fn declare<'js>(&self, ctx: &Ctx<'js>) -> Result<Module<'js, Declared>> {
        // SAFETY: the same engine wrote the bytecode, and nothing else can make this type.
        unsafe { Module::load(ctx.clone(), &self.0) }
    }
}

/// Throws an error that `catch` and `finally` cannot intercept.
pub fn throw_uncatchable(ctx: &Ctx<'_>, message: &str) -> Error {
    let error = Exception::from_message(ctx.clone(), message);
    match error {
        Ok(error) => {
            let value = error.as_object().as_value().as_raw();
            // SAFETY: the value is alive and belongs to this context.
            unsafe { qjs::JS_SetUncatchableError(ctx.as_raw().as_ptr(), value) };
            error.throw()
        }
        Err(error) => error,
    }
}

/// Runs code in a context on the current stack, and sets the engine's stack limit for it. At least
/// [`SCRIPT_STACK`] bytes of the stack must be left.
pub fn enter<R>(context: &Context, run: impl FnOnce(&Ctx<'_>) -> R) -> R {
    context.with(|ctx| {
        // SAFETY: the context is alive, and so is its runtime.
        unsafe { qjs::JS_UpdateStackTop(qjs::JS_GetRuntime(ctx.as_raw().as_ptr())) };
        run(&ctx)
    })
}

/// Polls the future that a fiber waits for. Returns whether it is ready.
type Wait = NonNull<dyn FnMut(&mut TaskContext<'_>) -> bool>;

/// Why a fiber is resumed.
#[derive(Clone, Copy, PartialEq)]
enum Resumed {
    Ready,
    Ended,
}

/// Lets code on a fiber wait for futures.
#[derive(Default)]
pub struct Waiter {
    /// Yielder of the running fiber. `None` while no fiber runs.
    yielder: Cell<Option<NonNull<Yielder<Resumed, Wait>>>>,
    ends: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    resumes: Cell<u64>,
}

impl Waiter {
    /// Waits for a future, which the worker polls on its own stack. Returns `None` if the fiber
    /// must end, or outside of a fiber.
    pub fn wait<F: Future>(&self, future: F) -> Option<F::Output> {
        if self.ends.get() {
            return None;
        }
        // Take the yielder, so that nothing on the worker's stack can suspend the fiber in the
        // meantime.
        let yielder = self.yielder.take()?;
        let mut future = pin!(future);
        let mut output = None;
        let mut poll = |cx: &mut TaskContext<'_>| match future.as_mut().poll(cx) {
            Poll::Ready(ready) => {
                output = Some(ready);
                true
            }
            Poll::Pending => false,
        };
        let wait: NonNull<dyn FnMut(&mut TaskContext<'_>) -> bool + '_> = NonNull::from(&mut poll);
        // SAFETY: only the lifetime changes. The closure is used only while this fiber is suspended
        // below, so this frame exists.
        let wait: Wait = unsafe { std::mem::transmute(wait) };
        // SAFETY: the cell contains a yielder only while its fiber runs, and only the worker
        // resumes fibers, so this runs on the fiber's stack. The yielder exists as long as the
        // fiber runs.
        let resumed = unsafe { yielder.as_ref() }.suspend(wait);
        self.yielder.set(Some(yielder));
        output.filter(|_| resumed == Resumed::Ready)
    }

    /// Makes the fiber end: it is resumed, and each wait returns `None`.
    pub fn end(&self) {
        self.ends.set(true);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Returns whether the fiber must end.
    pub fn ends(&self) -> bool {
        self.ends.get()
    }

    /// Allows the next fiber to run.
    pub fn reset(&self) {
        self.ends.set(false);
    }

    /// Returns whether the caller runs on a fiber.
    pub fn is_on_fiber(&self) -> bool {
        self.yielder.get().is_some()
    }

    /// Returns how often a fiber was resumed. A change shows that a new stretch of code has
    /// started.
    pub fn resumes(&self) -> u64 {
        self.resumes.get()
    }
}

/// Removes the yielder when the fiber's code has returned or panicked.
struct ClearYielder<'a>(&'a Waiter);

impl Drop for ClearYielder<'_> {
    fn drop(&mut self) {
        self.0.yielder.set(None);
    }
}

/// Code on a separate stack. As a future, it is ready when the code has returned.
///
/// Dropping a fiber first ends it: its waits return `None` until the code returns.
pub struct Fiber<R: 'static> {
    coroutine: Option<Coroutine<Resumed, Wait, R, DefaultStack>>,
    wait: Option<Wait>,
    waiter: Rc<Waiter>,
}

impl<R: 'static> Fiber<R> {
    /// Prepares code, which starts at the first poll.
    ///
    /// # Errors
    ///
    /// Fails if the system has no memory for a stack, or no more memory mappings.
    pub fn new(waiter: &Rc<Waiter>, run: impl FnOnce() -> R + 'static) -> io::Result<Fiber<R>> {
        let stack = match POOL.with_borrow_mut(Vec::pop) {
            Some(stack) => stack,
            None => DefaultStack::new(STACK)?,
        };
        let own = Rc::clone(waiter);
        let coroutine = Coroutine::with_stack(stack, move |yielder, _| {
            own.yielder.set(Some(NonNull::from(yielder)));
            let _clear = ClearYielder(&own);
            run()
        });
        Ok(Fiber {
            coroutine: Some(coroutine),
            wait: None,
            waiter: Rc::clone(waiter),
        })
    }

    /// Resumes the code until it waits or returns.
    fn resume(&mut self, resumed: Resumed) -> Option<R> {
        self.waiter.resumes.set(self.waiter.resumes.get() + 1);
        self.wait = None;
        match self.coroutine.as_mut()?.resume(resumed) {
            CoroutineResult::Yield(wait) => {
                self.wait = Some(wait);
                None
            }
            CoroutineResult::Return(result) => {
                let stack = self.coroutine.take().map(Coroutine::into_stack);
                // The pool no longer exists when the thread ends.
                let _ = POOL.try_with(|pool| {
                    let mut pool = pool.borrow_mut();
                    let is_kept = pool.len() < MOST_POOLED;
                    pool.extend(stack.filter(|_| is_kept));
                });
                Some(result)
            }
        }
    }
}

impl<R: 'static> Future for Fiber<R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<R> {
        loop {
            let resumed = match self.wait {
                Some(_) if self.waiter.ends() => Resumed::Ended,
                Some(mut wait) => {
                    // SAFETY: the fiber is suspended in `Waiter::wait`, whose frame contains the
                    // closure.
                    if !unsafe { wait.as_mut()(cx) } {
                        self.waiter.waker.replace(Some(cx.waker().clone()));
                        return Poll::Pending;
                    }
                    Resumed::Ready
                }
                None => Resumed::Ready,
            };
            if let Some(result) = self.resume(resumed) {
                return Poll::Ready(result);
            }
        }
    }
}

impl<R: 'static> Drop for Fiber<R> {
    fn drop(&mut self) {
        // The engine's frames on the stack cannot be unwound, so the code must return.
        let is_suspended = |fiber: &Self| {
            let coroutine = fiber.coroutine.as_ref();
            coroutine.is_some_and(|coroutine| coroutine.started() && !coroutine.done())
        };
        while is_suspended(self) {
            self.waiter.end();
            self.resume(Resumed::Ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{Future, poll_fn, ready},
        panic::{AssertUnwindSafe, catch_unwind},
        pin::pin,
        rc::Rc,
        task::{Context, Poll, Waker},
    };

    use super::{Fiber, Waiter};

    fn poll<F: Future>(future: F) -> Poll<F::Output> {
        pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn wait_on_the_workers_stack_returns_none_while_a_fiber_is_suspended() {
        let waiter = Rc::new(Waiter::default());
        let own = Rc::clone(&waiter);
        let mut fiber = Fiber::new(&waiter, move || {
            let polled = Rc::clone(&own);
            let mut polls = 0;
            let inside = own.wait(poll_fn(|_| {
                // The worker polls this.
                assert!(!polled.is_on_fiber());
                assert_eq!(polled.wait(ready(1)), None);
                polls += 1;
                match polls {
                    1 => Poll::Pending,
                    _ => Poll::Ready(2),
                }
            }));
            (inside, own.is_on_fiber(), own.wait(ready(3)))
        })
        .unwrap();
        assert!(poll(&mut fiber).is_pending());
        assert!(!waiter.is_on_fiber());
        assert_eq!(waiter.wait(ready(4)), None);
        assert_eq!(poll(&mut fiber), Poll::Ready((Some(2), true, Some(3))));
        assert_eq!(waiter.wait(ready(5)), None);
    }

    #[test]
    fn wait_after_a_panic_on_a_fiber_returns_none() {
        let waiter = Rc::new(Waiter::default());
        let own = Rc::clone(&waiter);
        let mut fiber = Fiber::new(&waiter, move || {
            assert_eq!(own.wait(ready(1)), Some(1));
            panic!("expected by the test");
        })
        .unwrap();
        let polled = catch_unwind(AssertUnwindSafe(|| poll::<&mut Fiber<()>>(&mut fiber)));
        assert!(polled.is_err());
        assert!(!waiter.is_on_fiber());
        assert_eq!(waiter.wait(ready(2)), None);
    }
}
