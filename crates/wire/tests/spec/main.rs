//! The types against the examples and schemas of the specification.
//!
//! The repository does not carry those files: they are looked for in `MCP_SPEC_DIR`, then beside
//! the repository. Without them the tests fail, so they are marked as ignored.

#[cfg(test)]
mod canonical;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod files;
#[cfg(test)]
mod legacy;
#[cfg(test)]
mod modern;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod schema;

#[cfg(test)]
mod tests {
    use crate::files::{report, spec_dir};
    use crate::schema::Schema;
    use crate::{examples, legacy, modern, schema};
    use callgate_wire::Version;

    #[test]
    #[ignore = "needs the schemas of the specification: cargo xtask spec"]
    fn every_example_reads_and_writes_as_the_same_json() {
        let dir = spec_dir();
        let (examples, types) = examples::check(&dir.join("2026-07-28/examples"));
        report(&format!(
            "2026-07-28: {examples} examples of {types} types read and written as the same JSON"
        ));
    }

    #[test]
    #[ignore = "needs the schemas of the specification: cargo xtask spec"]
    fn everything_we_write_fits_the_schema_and_leaves_no_member_out() {
        let dir = spec_dir();
        let schema = Schema::load(&dir, Version::V2026_07_28);
        let samples = modern::samples();
        schema.check(&samples);
        schema.check_members(&samples);
        schema.check_types(&samples);
        report(&format!(
            "2026-07-28: {} values fit the schema, for each of its {} types",
            samples.len(),
            schema.len()
        ));
    }

    #[test]
    #[ignore = "needs the schemas of the specification: cargo xtask spec"]
    fn everything_we_write_for_older_revisions_fits_their_schemas() {
        let dir = spec_dir();
        let older = Version::ALL
            .into_iter()
            .filter(|version| !version.is_modern());
        for version in older {
            let schema = Schema::load(&dir, version);
            let samples = legacy::samples(version);
            schema.check(&samples);
            schema.check_members(&samples);
            report(&format!(
                "{version}: {} values fit the schema, for {} types that later revisions changed",
                samples.len(),
                schema::types(&samples).len()
            ));
        }
    }
}
