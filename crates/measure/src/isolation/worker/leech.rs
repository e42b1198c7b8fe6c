//! The process that takes.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use super::{Answer, Order, answer};
use crate::isolation::leech::{Leech, Nothing, Place, Take};
use crate::isolation::protection::{LEECH, Protection};

/// Loads the resource or rests, as commanded.
pub fn serve(leech: &Leech, cpu: Option<usize>, orders: &Receiver<Order>) -> Result<(), String> {
    let protection = Protection::take(cpu, LEECH);
    let mut take = leech.prepare()?;
    let protection = protection.lock();
    answer(&Answer::Ready { protection, repeats: 1, run_ns: 0, uncounted: Vec::new() });
    let mut order = next(leech, orders);
    while let Some(what) = order {
        answer(&Answer::Ok);
        order = match what {
            Order::Take => takes(leech, &mut *take, orders)?,
            Order::Run | Order::Rest => next(leech, orders),
        };
    }
    Ok(())
}

/// Rests until there is a command. On a CPU of its own the leech computes while it rests, so that
/// the machine is as busy as under load; on the victim's CPU it sleeps.
fn next(leech: &Leech, orders: &Receiver<Order>) -> Option<Order> {
    if leech.kind.place() == Place::Same {
        return orders.recv().ok();
    }
    loop {
        match orders.try_recv() {
            Ok(order) => return Some(order),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {
                let _ = Nothing.take();
            }
        }
    }
}

/// Takes until there is another order.
fn takes(
    leech: &Leech,
    take: &mut dyn Take,
    orders: &Receiver<Order>,
) -> Result<Option<Order>, String> {
    let mut sleep = Duration::ZERO;
    loop {
        match orders.recv_timeout(sleep) {
            Ok(order) => return Ok(Some(order)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
        while !take.take()? {
            match orders.try_recv() {
                Ok(order) => return Ok(Some(order)),
                Err(TryRecvError::Disconnected) => return Ok(None),
                Err(TryRecvError::Empty) => {}
            }
        }
        sleep = leech.sleep;
    }
}
