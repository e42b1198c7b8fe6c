//! Requests for colours, in the place and in the time of the VCPU that asks.

use abi::hypercall::Error;

use super::Pcpu;
use crate::machine::requests::Requests;

impl Pcpu {
    fn requests(&self, place: usize) -> Option<&Requests> {
        self.context.requests.get(usize::from(self.seats[place].id.vm))?.as_ref()
    }

    /// A VCPU asks for colours. It gets its answer when it is the VCPU to run for long enough.
    pub(super) fn ask(&mut self, place: usize) {
        let vcpu = &self.seats[place].vcpu;
        let begun = match self.requests(place) {
            None => Err(Error::NotSupported),
            Some(requests) => match vcpu.address_space() {
                0 => Err(Error::BadAddress),
                space => requests.begin(space, vcpu.colors_asked()),
            },
        };
        match begun {
            Ok(()) => self.seats[place].asks = true,
            Err(error) => vcpu.answer_one(error.to_x0()),
        }
    }

    /// Does a step of the request of the VCPU to run.
    pub(super) fn go_on_asking(&mut self, place: usize) {
        if let Some(result) = self.requests(place).and_then(Requests::step) {
            let seat = &mut self.seats[place];
            seat.asks = false;
            seat.vcpu.answer_one(result as u64);
        }
    }

    /// Returns true if memory that a VCPU could not access may be accessed now: a page moved meanwhile.
    pub(super) fn may_try_again(&mut self, place: usize) -> bool {
        let Some(moves) = self.requests(place).map(Requests::moves) else { return false };
        // One that has ended before this look is another one than that of the last time.
        moves % 2 == 1 || self.seats[place].hidden.replace(moves) != Some(moves)
    }
}
