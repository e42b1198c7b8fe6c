# Packs hypervisor, plan and guests of a system as one image, ${PN}-${MACHINE}.img. The recipe has the description,
# system.toml, in its SRC_URI. Beside the description lie:
#
#   Image           the kernel
#   rootfs.cpio.gz  the RAM disk of the image recipe BULKHEAD_LINUX
#   *.bin           BULKHEAD_GUESTS, bare-metal guests of the release

BULKHEAD_LINUX ?= "bulkhead-image-linux"
BULKHEAD_GUESTS ?= "rt-demo.bin"

INHIBIT_DEFAULT_DEPS = "1"
DEPENDS += "bulkhead-native"

S = "${UNPACKDIR}"
B = "${WORKDIR}/build"

PACKAGE_ARCH = "${MACHINE_ARCH}"

inherit deploy nopackages image-artifact-names

do_configure[noexec] = "1"
do_install[noexec] = "1"

do_compile[cleandirs] = "${B}"
do_compile[depends] += "virtual/kernel:do_deploy ${BULKHEAD_LINUX}:do_image_complete"
do_compile() {
    cp ${S}/system.toml ${B}
    cp ${DEPLOY_DIR_IMAGE}/Image ${B}/Image
    cp ${DEPLOY_DIR_IMAGE}/${BULKHEAD_LINUX}${IMAGE_MACHINE_SUFFIX}${IMAGE_NAME_SUFFIX}.cpio.gz ${B}/rootfs.cpio.gz
    for guest in ${BULKHEAD_GUESTS}; do
        cp ${STAGING_LIBDIR_NATIVE}/bulkhead/build/guests/$guest ${B}
    done
    # This fails if a deadline can be missed.
    bulkhead plan system.toml -o system.plan.dts
    bulkhead run system.plan.dts --image-only bulkhead.img
}

do_deploy() {
    install -m 0644 ${B}/bulkhead.img ${DEPLOYDIR}/${PN}-${MACHINE}.img
    install -m 0644 ${B}/system.plan.dts ${DEPLOYDIR}/${PN}-${MACHINE}.plan.dts
}
addtask deploy after do_compile before do_build
