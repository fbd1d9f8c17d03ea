use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;
use crate::repo::Repo;
use crate::step::run_each;

/// Lints every library that has features without any of them, with each alone, and with all.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let metadata = repo.cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let packages = packages(metadata)?;
    let combinations = packages.iter().flat_map(|package| {
        package
            .combinations()
            .into_iter()
            .map(move |it| (package, it))
    });
    run_each(combinations, |(package, features)| {
        let mut clippy = repo.cargo(&["clippy", "--package", &package.name, "--lib"]);
        clippy.args(["--no-default-features", "--features", &features]);
        process::run(clippy.args(["--", "-D", "warnings"]))
    })
}

struct Package {
    name: String,
    features: Vec<String>,
}

impl Package {
    /// The lists of features to try, each separated by commas.
    fn combinations(&self) -> Vec<String> {
        let mut lists = vec![String::new()];
        lists.extend(self.features.iter().cloned());
        if self.features.len() > 1 {
            lists.push(self.features.join(","));
        }
        lists
    }
}

/// The packages of the workspace that have features.
fn packages(mut metadata: Command) -> Result<Vec<Package>> {
    let metadata: Value = serde_json::from_str(&process::capture(&mut metadata)?)?;
    let packages = metadata.get("packages").and_then(Value::as_array);
    let packages = packages.context("cargo metadata lists no packages")?;
    let with_features = packages.iter().filter_map(|package| {
        let features = package.get("features")?.as_object()?.keys();
        let features: Vec<String> = features
            .filter(|feature| *feature != "default")
            .cloned()
            .collect();
        let name = package.get("name")?.as_str()?.to_owned();
        (!features.is_empty()).then_some(Package { name, features })
    });
    Ok(with_features.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_tried_one_by_one_and_together() {
        let combinations = |features: &[&str]| {
            let package = Package {
                name: "p".to_owned(),
                features: features.iter().map(|&feature| feature.to_owned()).collect(),
            };
            package.combinations()
        };
        assert_eq!(combinations(&["a"]), ["", "a"]);
        assert_eq!(combinations(&["a", "b"]), ["", "a", "b", "a,b"]);
    }
}
