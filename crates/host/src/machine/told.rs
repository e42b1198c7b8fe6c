//! Tells a model of the host's caches in which frames the memory of VMs lies, and looks at the end whether it still lies there.

use vmm::{Memory, Pagemap, VmMemory};

use super::Error;

/// The memory of all VMs, and the frames that were told.
#[derive(Debug)]
pub struct Told {
    pagemap: Pagemap,
    /// For each part the index of its VM.
    parts: Vec<(u8, Memory)>,
    frames: Vec<Option<u64>>,
}

impl Told {
    /// Tells the frames of VMs, which are in the order of their indices. Each page must have a frame that it keeps.
    pub fn tell<'a>(vms: impl Iterator<Item = &'a VmMemory>) -> Result<Self, Error> {
        let pagemap = Pagemap::open()?;
        let parts = (0..).zip(vms).flat_map(|(vm, VmMemory { tables, ram })| {
            [tables, ram].map(|memory| (vm, memory.clone()))
        });
        let parts: Vec<(u8, Memory)> = parts.collect();
        let mut told = Self { pagemap, parts, frames: Vec::new() };
        let frames = told.look()?;
        for (vm, frame) in &frames {
            let Some(frame) = frame else {
                return Err(Error::Colors(format!(
                    "a page of VM {vm} has no frame that could be told: Linux moves it\nhelp: start the run again"
                )));
            };
            vmm::tell_page(*vm, *frame);
        }
        vmm::tell_all();
        told.frames = frames.into_iter().map(|(_, frame)| frame).collect();
        Ok(told)
    }

    /// The VM and the frame of each page now.
    fn look(&self) -> Result<Vec<(u8, Option<u64>)>, Error> {
        let mut all = Vec::new();
        for (vm, memory) in &self.parts {
            let mut frames = Vec::new();
            self.pagemap.read(memory, &mut frames)?;
            all.extend(frames.into_iter().map(|frame| (*vm, frame)));
        }
        Ok(all)
    }

    /// Returns why what was told is not true any more, if so.
    pub fn untrue(&self) -> Option<String> {
        let now = match self.look() {
            Ok(now) => now,
            Err(error) => return Some(error.to_string()),
        };
        let same = now.iter().map(|(_, frame)| frame).eq(&self.frames);
        (!same).then(|| {
            "Linux has moved pages of VMs to other frames than those that were told (`--tell-frames`)".into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_changed_are_found() {
        let memory = VmMemory::new(2 << 20).expect("memory");
        let locked = vmm::LockedMemory::new();
        let mut told = match locked.map(|_locked| Told::tell([&memory].into_iter())) {
            Ok(Ok(told)) => told,
            Ok(Err(error)) | Err(error) => return eprintln!("skipped: {error}"),
        };
        assert!(told.frames.len() > 512 && told.frames.iter().all(Option::is_some));
        told.frames.swap(0, 1);
        let why = told.untrue().expect("they are others");
        assert!(why.contains("moved pages"), "{why}");
    }
}
