//! The output of `--image-only`.

use std::path::Path;

use image::Image;
use report::text::table;
use serde::Serialize;
use units::Bytes;

use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;

/// Says that an image was written.
pub fn image_written(out: &Path, image: &Image, as_json: bool) -> Result<Status, Failure> {
    if as_json {
        json::print(&ImageDocument {
            ok: true,
            image_file: out.display().to_string(),
            image_bytes: image.bytes.len() as u64,
            hypervisor_bytes: image.hypervisor_bytes,
            blobs: image.blobs.iter().map(|(name, bytes)| Blob { name, bytes: *bytes }).collect(),
        })?;
        return Ok(Status::Yes);
    }
    let hypervisor = [("hypervisor".to_owned(), image.hypervisor_bytes)];
    let rows: Vec<_> = hypervisor
        .iter()
        .chain(&image.blobs)
        .map(|(name, bytes)| vec![name.clone(), bytes.to_string()])
        .collect();
    let size = Bytes(image.bytes.len() as u64);
    let parts = table(&["part", ">bytes"], &rows);
    output::print(&format!("wrote {} ({size})\n\n{parts}", out.display()))?;
    Ok(Status::Yes)
}

#[derive(Serialize)]
struct ImageDocument<'a> {
    ok: bool,
    image_file: String,
    image_bytes: u64,
    hypervisor_bytes: u64,
    blobs: Vec<Blob<'a>>,
}

#[derive(Serialize)]
struct Blob<'a> {
    name: &'a str,
    bytes: u64,
}
