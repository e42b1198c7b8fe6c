//! A private apt: packages of any architecture, without touching the
//! system's own package lists and as an ordinary user.
//!
//! apt checks the signature of the archive's index and the SHA-256 of every
//! package, keeps what an interrupted download has fetched, and goes on there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::file;

/// Environment variable with the URL of a mirror under which `debian` and
/// `debian-security` lie; without it, those that the system uses itself.
const MIRROR_VARIABLE: &str = "BULKHEAD_DEBIAN_MIRROR";
/// The releases that packages come from, and their folders on a mirror.
const RELEASES: [(&str, &str); 2] =
    [("bookworm", "debian"), ("bookworm-security", "debian-security")];
/// Keys that may sign the archive's index.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A private apt in a folder of its own.
pub struct Apt {
    root: PathBuf,
    architecture: &'static str,
}

impl Apt {
    /// Sets up the folder and fetches the package lists of Debian 12 for an architecture, in
    /// Debian's words. `otherwise` says what to do on other systems than Debian.
    pub fn new(root: &Path, architecture: &'static str, otherwise: &str) -> Result<Self> {
        ensure!(
            Path::new(KEYRING).exists(),
            "{KEYRING} is missing: on Debian, install debian-archive-keyring; on other systems, {otherwise}"
        );
        for folder in ["lists/partial", "archives/partial", "packages"] {
            file::make_folder(&root.join(folder))?;
        }
        let root = root.canonicalize()?;
        let apt = Self { root, architecture };
        file::write_if_changed(&apt.root.join("status"), b"")?;
        file::write_if_changed(&apt.root.join("sources.list"), sources()?.as_bytes())?;
        file::write_if_changed(&apt.root.join("apt.conf"), apt.configuration().as_bytes())?;
        // An error for a list that cannot be fetched, not a warning.
        apt.run("apt-get", &["-qq", "-o", "APT::Update::Error-Mode=any", "update"])?;
        Ok(apt)
    }

    /// The value of a field of the newest version of a package, as in `apt-cache show`.
    pub fn field(&self, package: &str, field: &str) -> Result<String> {
        let text = self.run("apt-cache", &["show", "--no-all-versions", package])?;
        text.lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(": "))
            .map(str::to_owned)
            .with_context(|| format!("package {package} has no field {field}"))
    }

    /// Downloads the newest version of a package; the path of its file.
    pub fn download(&self, package: &str) -> Result<PathBuf> {
        // Shows its progress on a terminal, its errors always.
        let status = self
            .command("apt-get", &["-q", "download", package])
            .status()
            .context("cannot start apt-get")?;
        ensure!(status.success(), "package {package} cannot be downloaded");
        let version = self.field(package, "Version")?;
        let name = file_name(package, &version, self.architecture);
        Ok(self.root.join("packages").join(name))
    }

    /// Downloads the newest versions of packages and of all that they depend on; their files.
    pub fn download_with_dependencies(&self, packages: &[&str]) -> Result<Vec<PathBuf>> {
        let simulate = ["-q", "--simulate", "--no-install-recommends", "install"];
        let text = self.run("apt-get", &[&simulate[..], packages].concat())?;
        let names = to_be_installed(&text);
        let status = self
            .command("apt-get", &["-q", "download"])
            .args(&names)
            .status()
            .context("cannot start apt-get")?;
        ensure!(status.success(), "packages cannot be downloaded: {}", names.join(" "));
        let mut files = Vec::new();
        for entry in fs::read_dir(self.root.join("packages"))? {
            files.push(entry?.path());
        }
        files.retain(|path| path.extension() == Some("deb".as_ref()));
        files.sort();
        Ok(files)
    }

    /// Removes the packages and lists; they are not needed once files are taken out of them.
    pub fn remove(self) -> Result<()> {
        fs::remove_dir_all(&self.root)
            .with_context(|| format!("cannot remove {}", self.root.display()))
    }

    /// One of apt's commands, to be run in the folder `packages`.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .arg("-c")
            .arg(self.root.join("apt.conf"))
            .args(arguments)
            .current_dir(self.root.join("packages"))
            .env("LC_ALL", "C.UTF-8");
        command
    }

    /// Runs one of apt's commands; its standard output.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let output = self
            .command(program, arguments)
            .output()
            .with_context(|| format!("cannot start {program}"))?;
        if !output.status.success() {
            bail!(
                "{program} {} failed: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Settings that keep apt inside the folder. They are read after the
    /// system's own, from which proxies are taken over.
    fn configuration(&self) -> String {
        let (root, architecture) = (self.root.display(), self.architecture);
        format!(
            r##"#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Update::Pre-Invoke;
#clear APT::Default-Release;
APT::Architecture "{architecture}";
#clear APT::Architectures;
APT::Architectures {{ "{architecture}"; }};
APT::Sandbox::User "";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::Retries "3";
Dir::State "{root}";
Dir::State::lists "{root}/lists";
Dir::State::status "{root}/status";
Dir::Cache "{root}";
Dir::Cache::archives "{root}/archives";
Dir::Etc::sourcelist "{root}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
"##
        )
    }
}

/// The name that `apt-get download` gives to a package: the colon of a version is escaped.
fn file_name(package: &str, version: &str, architecture: &str) -> String {
    format!("{package}_{}_{architecture}.deb", version.replace(':', "%3a"))
}

/// The packages in what `apt-get --simulate install` prints: `Inst libc6 (2.36-9 Debian:12 [arm64])`.
fn to_be_installed(simulation: &str) -> Vec<&str> {
    let package = |line| str::strip_prefix(line, "Inst ")?.split_whitespace().next();
    simulation.lines().filter_map(package).collect()
}

/// The private list of sources.
fn sources() -> Result<String> {
    let urls: Vec<(&str, String)> = match std::env::var(MIRROR_VARIABLE) {
        Ok(mirror) => RELEASES.map(|(release, path)| (release, format!("{mirror}/{path}"))).into(),
        Err(_) => {
            let output = Command::new("apt-get")
                .args([
                    "indextargets",
                    "--format",
                    "$(REPO_URI) $(RELEASE)",
                    "Created-By: Packages",
                ])
                .output()
                .context("cannot start apt-get")?;
            system_sources(&String::from_utf8_lossy(&output.stdout))
        }
    };
    ensure!(
        urls.iter().any(|(release, _)| *release == RELEASES[0].0),
        "the system's own apt does not know Debian 12: set {MIRROR_VARIABLE} to the URL of a mirror, \
         under which the folder `debian` lies"
    );
    let line = |(release, url): &(&str, String)| {
        format!("deb [target=Packages signed-by={KEYRING}] {url} {release} main\n")
    };
    Ok(urls.iter().map(line).collect())
}

/// The first URL of each release in lines of `URL release`.
fn system_sources(targets: &str) -> Vec<(&'static str, String)> {
    let url_of = |wanted: &str| {
        targets
            .lines()
            .filter_map(|line| line.split_once(' '))
            .find(|(_, release)| *release == wanted)
    };
    RELEASES
        .iter()
        .filter_map(|(release, _)| url_of(release).map(|(url, _)| (*release, url.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_those_of_the_system() {
        let targets = "http://a/debian/ bookworm-backports\nhttp://a/debian/ bookworm\n\
                       http://b/debian/ bookworm\nhttp://a/debian-security/ bookworm-security\n";
        let expected = [
            ("bookworm", "http://a/debian/".to_owned()),
            ("bookworm-security", "http://a/debian-security/".to_owned()),
        ];
        assert_eq!(system_sources(targets), expected);
        assert!(system_sources("http://a/ubuntu/ noble\n").is_empty());
    }

    #[test]
    fn packages_are_found_in_a_simulation() {
        let text = "NOTE: This is only a simulation!\nInst libc6 (2.36 Debian:12 [arm64]) []\n\
                    Inst zstd (1.5 Debian:12 [arm64])\nConf libc6 (2.36 Debian:12 [arm64])\n";
        assert_eq!(to_be_installed(text), ["libc6", "zstd"]);
    }

    #[test]
    fn the_epoch_of_a_version_is_escaped_in_file_names() {
        assert_eq!(
            file_name("busybox-static", "1:1.35.0-4+deb12u1+b1", "arm64"),
            "busybox-static_1%3a1.35.0-4+deb12u1+b1_arm64.deb"
        );
    }
}
