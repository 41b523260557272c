//! A first-come, first-served semaphore for connects and shared pools.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use crate::deadlines::{Cut, Limit};

/// A semaphore for the tasks of one worker.
#[derive(Debug)]
pub struct Semaphore {
    free: Cell<usize>,
    line: RefCell<VecDeque<Rc<WaiterSlot>>>,
}

#[derive(Debug, Default)]
struct WaiterSlot {
    called: Cell<bool>,
    gone: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// A permit of a semaphore. Dropping it returns the permit.
#[derive(Debug)]
pub struct Permit(Rc<Semaphore>);

impl Semaphore {
    /// Creates a semaphore with this number of permits.
    #[must_use]
    pub fn new(places: usize) -> Rc<Semaphore> {
        Rc::new(Semaphore {
            free: Cell::new(places),
            line: RefCell::default(),
        })
    }

    /// Waits for a permit. Fails if the limit expires.
    pub async fn acquire(self: &Rc<Semaphore>, limit: &Limit) -> Result<Permit, Cut> {
        if self.free.get() > 0 && self.line.borrow().is_empty() {
            self.free.set(self.free.get() - 1);
            return Ok(Permit(Rc::clone(self)));
        }
        let place = Rc::new(WaiterSlot::default());
        self.line.borrow_mut().push_back(Rc::clone(&place));
        let waiting = Waiting {
            semaphore: self,
            place,
        };
        std::future::poll_fn(|cx| waiting.poll(limit, cx)).await
    }

    fn release(&self) {
        // Pass the permit directly to the next waiter, so that no other task can overtake it.
        while let Some(next) = self.line.borrow_mut().pop_front() {
            if !next.gone.get() {
                next.called.set(true);
                if let Some(waker) = next.waker.borrow_mut().take() {
                    waker.wake();
                }
                return;
            }
        }
        self.free.set(self.free.get() + 1);
    }
}

struct Waiting<'a> {
    semaphore: &'a Rc<Semaphore>,
    place: Rc<WaiterSlot>,
}

impl Waiting<'_> {
    fn poll(&self, limit: &Limit, cx: &Context<'_>) -> Poll<Result<Permit, Cut>> {
        // A waiter whose limit has expired would open a useless connection.
        if let Poll::Ready(cut) = limit.poll(cx) {
            return Poll::Ready(Err(cut));
        }
        if self.place.called.get() {
            self.place.gone.set(true);
            return Poll::Ready(Ok(Permit(Rc::clone(self.semaphore))));
        }
        *self.place.waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.place.gone.replace(true) && self.place.called.get() {
            self.semaphore.release();
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn permits_are_granted_in_order_without_leaks() {
        let semaphore = Semaphore::new(1);
        let limit = Limit::default();
        let mut first = Box::pin(semaphore.acquire(&limit));
        let Poll::Ready(Ok(pass)) = poll_once(first.as_mut()) else {
            panic!("the semaphore is free")
        };
        let mut second = Box::pin(semaphore.acquire(&limit));
        let mut third = Box::pin(semaphore.acquire(&limit));
        assert!(poll_once(second.as_mut()).is_pending());
        assert!(poll_once(third.as_mut()).is_pending());
        drop(pass);
        assert!(poll_once(third.as_mut()).is_pending(), "nobody overtakes");
        drop(second);
        let Poll::Ready(Ok(pass)) = poll_once(third.as_mut()) else {
            panic!("the third is next")
        };
        drop(pass);
        assert_eq!(semaphore.free.get(), 1);
    }

    #[test]
    fn limit_ends_the_wait() {
        let semaphore = Semaphore::new(0);
        let limit = Limit::default();
        let mut wait = Box::pin(semaphore.acquire(&limit));
        assert!(poll_once(wait.as_mut()).is_pending());
        limit.abort();
        assert!(matches!(
            poll_once(wait.as_mut()),
            Poll::Ready(Err(Cut::Aborted))
        ));
        drop(wait);
        assert_eq!(semaphore.free.get(), 0);
    }

    #[test]
    fn expired_waiter_gets_no_permit() {
        let semaphore = Semaphore::new(1);
        let (limit, all) = (Limit::default(), Limit::default());
        let mut first = Box::pin(semaphore.acquire(&limit));
        let Poll::Ready(Ok(pass)) = poll_once(first.as_mut()) else {
            panic!("the semaphore is free")
        };
        let mut second = Box::pin(semaphore.acquire(&all));
        assert!(poll_once(second.as_mut()).is_pending());
        all.abort();
        drop(pass);
        let cut = poll_once(second.as_mut());
        assert!(matches!(cut, Poll::Ready(Err(Cut::Aborted))));
        drop(second);
        assert_eq!(semaphore.free.get(), 1, "the place is given back");
    }
}
