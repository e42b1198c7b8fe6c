//! The protocols that are analysed, and the variants of the equations.

/// The variant of the bounds.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Variant {
    /// Eq. 1 to 16 as they are printed.
    Published,
    /// The corrected equations.
    Sound,
}

/// The effect on a VCPU of a task that holds a global resource.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Protocol {
    /// The VCPU is above all others of its PCPU (vMPCP, section III.A).
    Vmpcp,
    /// None: the hypervisor is not told (MPCP). The paper has no analysis of this; both variants
    /// then count a section like any other execution of its VCPU.
    Mpcp,
}
