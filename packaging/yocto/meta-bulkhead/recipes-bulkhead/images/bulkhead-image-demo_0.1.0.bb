SUMMARY = "Linux beside a real-time guest on QEMU's virt"
DESCRIPTION = "One image with the hypervisor, its plan, Linux and a real-time guest with three tasks."
SECTION = "images"
LICENSE = "MIT | Apache-2.0"
# nooelint: oelint.var.licenseremotefile
LIC_FILES_CHKSUM = "\
    file://${COMMON_LICENSE_DIR}/MIT;md5=0835ade698e0bcf8506ecda2f7b4f302 \
    file://${COMMON_LICENSE_DIR}/Apache-2.0;md5=89aea4e17d99a7cacdbeed46a0096b10 \
"

SRC_URI = "file://system.toml"

inherit bulkhead_image

COMPATIBLE_MACHINE = "qemuarm64"
