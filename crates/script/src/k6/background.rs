//! Work that a virtual user does not wait for in a call: timers and asynchronous requests.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use rquickjs::{Ctx, Result};

/// Callback that the event loop runs when work has finished.
pub type Completion = Box<dyn for<'js> FnOnce(&Ctx<'js>) -> Result<()>>;

struct Task {
    id: u64,
    future: Pin<Box<dyn Future<Output = Completion>>>,
}

/// The work of a virtual user that is in progress.
#[derive(Default)]
pub struct Background {
    tasks: RefCell<Vec<Task>>,
    finished: RefCell<VecDeque<Completion>>,
    ids: Cell<u64>,
}

impl Background {
    /// Starts work and returns its number. The work is polled while the virtual user waits.
    pub fn start(&self, future: impl Future<Output = Completion> + 'static) -> u64 {
        let id = self.ids.get() + 1;
        self.ids.set(id);
        self.tasks.borrow_mut().push(Task {
            id,
            future: Box::pin(future),
        });
        id
    }

    /// Cancels work. Ignores unknown numbers.
    pub fn cancel(&self, id: u64) {
        self.tasks.borrow_mut().retain(|task| task.id != id);
    }

    /// Cancels all work.
    pub fn clear(&self) {
        self.tasks.borrow_mut().clear();
        self.finished.borrow_mut().clear();
    }

    /// Returns whether no work is in progress and nothing has finished.
    pub fn is_empty(&self) -> bool {
        self.tasks.borrow().is_empty() && self.finished.borrow().is_empty()
    }

    /// Removes and returns the work that finished first.
    pub fn take_finished(&self) -> Option<Completion> {
        self.finished.borrow_mut().pop_front()
    }

    /// Waits until some work has finished.
    pub async fn wait(&self) {
        poll_fn(|cx| {
            self.poll(cx);
            match self.finished.borrow().is_empty() {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
    }

    /// Polls a future together with the background work.
    pub async fn poll_with<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|cx| {
            self.poll(cx);
            future.as_mut().poll(cx)
        })
        .await
    }

    fn poll(&self, cx: &mut Context<'_>) {
        let mut tasks = self.tasks.take();
        tasks.retain_mut(|task| match task.future.as_mut().poll(cx) {
            Poll::Ready(completion) => {
                self.finished.borrow_mut().push_back(completion);
                false
            }
            Poll::Pending => true,
        });
        let mut all = self.tasks.borrow_mut();
        // Work that started in the meantime comes last.
        tasks.append(&mut all);
        *all = tasks;
    }
}
