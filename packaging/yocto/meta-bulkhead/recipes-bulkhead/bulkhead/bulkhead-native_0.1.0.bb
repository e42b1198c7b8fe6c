SUMMARY = "Command that plans and packs several real-time systems on one chip"
DESCRIPTION = "The command of Bulkhead, its hypervisor and bare-metal guests, from the archive of a release."
SECTION = "devel"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "\
    file://LICENSE-APACHE;md5=3b83ef96387f14655fc854ddc3c6bd57 \
    file://LICENSE-MIT;md5=e85c2f02a3f506b23ea14eca80c4ec8a \
"

# The folder with the archive, an absolute path: local.conf sets it.
BULKHEAD_RELEASE ??= ""
BULKHEAD_NAME = "bulkhead-${PV}-x86_64-unknown-linux-gnu"

SRC_URI = "file://${BULKHEAD_RELEASE}/${BULKHEAD_NAME}.tar.gz"

S = "${UNPACKDIR}/${BULKHEAD_NAME}"

inherit_defer native

# The programs of a release are built.
INHIBIT_DEFAULT_DEPS = "1"
INHIBIT_SYSROOT_STRIP = "1"
COMPATIBLE_HOST = "x86_64.*-linux"

# Whoever wants the recipe reads why it is not there.
# nooelint: oelint.task.noanonpython
python () {
    if not d.getVar("BULKHEAD_RELEASE"):
        raise bb.parse.SkipRecipe("BULKHEAD_RELEASE is empty: it has to name the folder with the archive of a release")
}

do_configure[noexec] = "1"
do_compile[noexec] = "1"

# The command looks for hypervisor and guests beside itself, in build.
do_install() {
    install -d ${D}${bindir} ${D}${libdir}/bulkhead
    cp -R --no-dereference --preserve=mode,links ${S}/bulkhead ${S}/build ${D}${libdir}/bulkhead
    ln -sr ${D}${libdir}/bulkhead/bulkhead ${D}${bindir}/bulkhead
}
