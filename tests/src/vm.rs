//! What runs in a VM of a test.

use std::fmt::Write;

/// A VM of a test system.
#[derive(Clone, Debug)]
pub struct Vm {
    pub(crate) name: String,
    memory: String,
    vcpus: Option<u64>,
    lines: String,
}

impl Vm {
    fn new(name: &str, boot: &str, memory: &str) -> Self {
        let vm =
            Self { name: name.into(), memory: memory.into(), vcpus: None, lines: String::new() };
        vm.key("boot", boot)
    }

    /// Gives the VM another size of RAM.
    pub fn memory(mut self, memory: &str) -> Self {
        self.memory = memory.into();
        self
    }

    /// A guest of `guests/programs` called like the program: `rt-beacon` becomes VM `beacon`.
    pub fn rt(program: &str) -> Self {
        let kernel = crate::project().join(format!("build/guests/{program}.bin"));
        let name = program.trim_start_matches("rt-");
        Self::new(name, "raw", "16MiB").key("kernel", &kernel.to_string_lossy())
    }

    /// Debian's Linux with two VCPUs, which does this job.
    pub fn linux(job: &str) -> Self {
        Self::linux_with("initrd.cpio", job)
    }

    /// The same with another initial RAM disk in `build/linux`.
    pub fn linux_with(initrd: &str, job: &str) -> Self {
        let file = |name: &str| crate::project().join("build/linux").join(name);
        Self::new("linux", "linux", "512MiB")
            .vcpus(2)
            .key("kernel", &file("vmlinuz").to_string_lossy())
            .key("initrd", &file(initrd).to_string_lossy())
            .key("bootargs", &format!("console=ttyAMA0 quiet bulkhead.job={job}"))
    }

    /// Gives the VM another name.
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Gives the VM this number of VCPUs.
    pub fn vcpus(mut self, count: u64) -> Self {
        self.vcpus = Some(count);
        self
    }

    /// Its command line.
    pub fn bootargs(self, bootargs: &str) -> Self {
        self.key("bootargs", bootargs)
    }

    /// One more key of the description, a string.
    pub fn key(mut self, key: &str, value: &str) -> Self {
        writeln!(self.lines, "{key} = {value:?}").expect("a string takes text");
        self
    }

    /// One more key of the description, a number.
    pub fn number(mut self, key: &str, value: u64) -> Self {
        writeln!(self.lines, "{key} = {value}").expect("a string takes text");
        self
    }

    /// Anything more, as it stands in the description: tables come last.
    pub fn more(mut self, text: &str) -> Self {
        self.lines.push_str(text);
        self
    }

    pub(crate) fn toml(&self) -> String {
        let vcpus = self.vcpus.map(|count| format!("vcpus = {count}\n")).unwrap_or_default();
        let Self { name, memory, lines, .. } = self;
        format!("[[vm]]\nname = {name:?}\nmemory = {memory:?}\n{vcpus}{lines}\n")
    }
}
