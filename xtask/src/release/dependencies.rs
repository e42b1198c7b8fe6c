//! The packages that programs consist of, and their licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::archive::{Files, Source};
use crate::toolchain;

/// The beginnings of the names of files that packages put their licences in.
const LICENCES: [&str; 5] = ["license", "licence", "copying", "copyright", "notice"];

/// Cargo's knowledge of the packages of a workspace.
pub struct Dependencies {
    metadata: Value,
}

impl Dependencies {
    /// Asks cargo about the packages of a workspace, and which of them this machine needs. Bare-metal programs need no others.
    pub fn of(manifest: &Path) -> Result<Self> {
        let mut command = toolchain::host_cargo("metadata");
        command
            .args(["--format-version", "1", "--locked"])
            .args(["--filter-platform", &toolchain::host()?, "--manifest-path"])
            .arg(manifest);
        let output = command.output().context("cannot start cargo metadata")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cargo metadata failed: {errors}");
        let metadata = serde_json::from_slice(&output.stdout);
        Ok(Self { metadata: metadata.context("cargo metadata wrote no JSON")? })
    }

    /// The names of the programs of a package.
    pub fn programs(&self, package: &str) -> Vec<&str> {
        let targets = list(&self.metadata["packages"])
            .filter(|it| it["name"] == package)
            .flat_map(|it| list(&it["targets"]));
        let programs = targets.filter(|it| list(&it["kind"]).any(|kind| kind == "bin"));
        programs.filter_map(|it| it["name"].as_str()).collect()
    }

    /// Adds a list of the packages that these are built from (CycloneDX 1.5), and the licences of those that come from others.
    pub fn add(&self, roots: &[&str], folder: &str, files: &mut Files) -> Result<()> {
        let packages = self.used_by(roots);
        let components: Vec<_> = packages.values().map(|package| component(package)).collect();
        let bill = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "components": components,
        });
        let bill = serde_json::to_vec_pretty(&bill).context("the list of packages is no JSON")?;
        files.insert(format!("{folder}sbom.cdx.json"), Source::Bytes(bill));

        for ((name, version), package) in packages {
            if package["source"].is_null() {
                continue;
            }
            let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
            let sources = manifest.parent().unwrap_or(manifest);
            let entries = fs::read_dir(sources)
                .with_context(|| format!("cannot read {}", sources.display()))?;
            for entry in entries {
                let path =
                    entry.with_context(|| format!("cannot read {}", sources.display()))?.path();
                let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let lower = file.to_lowercase();
                if path.is_file() && LICENCES.iter().any(|start| lower.starts_with(start)) {
                    let to = format!("{folder}licences/{name}-{version}/{file}");
                    files.insert(to, Source::File(path));
                }
            }
        }
        Ok(())
    }

    /// The packages whose code ends up in these, by name and version. Packages that only build or test them are left out.
    fn used_by(&self, roots: &[&str]) -> BTreeMap<(&str, &str), &Value> {
        let by_id: BTreeMap<_, _> =
            list(&self.metadata["packages"]).map(|it| (it["id"].as_str(), it)).collect();
        let nodes: BTreeMap<_, _> = list(&self.metadata["resolve"]["nodes"])
            .map(|it| (it["id"].as_str(), &it["deps"]))
            .collect();
        let is_root = |package: &Value| {
            package["source"].is_null() && roots.iter().any(|root| package["name"] == *root)
        };
        let mut open: Vec<_> =
            by_id.iter().filter(|(_, it)| is_root(it)).map(|(&id, _)| id).collect();
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let dependencies = nodes.get(&id).into_iter().flat_map(|it| list(it));
            let used =
                dependencies.filter(|it| list(&it["dep_kinds"]).any(|it| it["kind"].is_null()));
            open.extend(used.map(|it| it["pkg"].as_str()));
        }
        let packages = seen.iter().filter_map(|id| by_id.get(id).copied());
        packages
            .map(|it| {
                let name = it["name"].as_str().unwrap_or_default();
                ((name, it["version"].as_str().unwrap_or_default()), it)
            })
            .collect()
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn component(package: &Value) -> Value {
    let (name, version) = (&package["name"], &package["version"]);
    let mut component = json!({ "type": "library", "name": name, "version": version });
    if let Some(licence) = package["license"].as_str() {
        // Cargo's old way of writing `OR`.
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    if let (false, Some(name), Some(version)) =
        (package["source"].is_null(), name.as_str(), version.as_str())
    {
        component["purl"] = json!(format!("pkg:cargo/{name}@{version}"));
    }
    component
}
