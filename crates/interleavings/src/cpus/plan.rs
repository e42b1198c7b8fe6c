//! The parts of a plan that resources need.

pub struct Locks<'a> {
    pub resources: Vec<Resource<'a>>,
}

pub struct Resource<'a> {
    pub name: &'a str,
    pub vms: u8,
}

pub struct Vm {
    pub vcpus: Vec<Vcpu>,
}

pub struct Vcpu {
    pub server: Option<Server>,
}

#[derive(Clone, Copy)]
pub struct Server {
    pub priority: u32,
}
