//! `bulkhead schema`.

use testing::sandbox;

#[test]
fn each_kind_has_a_schema_with_texts() {
    for (kind, key, part) in [
        ("description", "/properties/vm/items/properties/memory/description", "multiple of 4 KiB"),
        ("platform", "/properties/cache/items/properties/color_bits/description", "above-page"),
        ("experiment", "/properties/servers/properties/utilization/description", "UUniFast"),
    ] {
        let result = sandbox!().bulkhead(&["schema", kind]);
        result.assert_status(0);
        let document = result.json();
        assert_eq!(document["$schema"], "http://json-schema.org/draft-07/schema#");
        let text = document.pointer(key).and_then(|it| it.as_str()).unwrap_or_default();
        assert!(text.contains(part), "{kind}: {text}");
    }
}

#[test]
fn an_unknown_kind_lists_those_that_there_are() {
    let parts = ["plattform", "[possible values: description, platform, experiment]"];
    sandbox!().bulkhead(&["schema", "plattform"]).assert_refused(&parts);
    sandbox!().bulkhead(&["schema"]).assert_refused(&["<KIND>"]);
}
