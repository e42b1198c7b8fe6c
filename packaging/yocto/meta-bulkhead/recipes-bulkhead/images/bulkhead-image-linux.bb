SUMMARY = "Small Linux as the RAM disk of a VM"
DESCRIPTION = "What core-image-minimal has, as a RAM disk: a VM has no disk."
SECTION = "images"
LICENSE = "MIT"

IMAGE_INSTALL = "packagegroup-core-boot ${CORE_IMAGE_EXTRA_INSTALL}"
IMAGE_FSTYPES = "cpio.gz"
IMAGE_LINGUAS = ""

inherit core-image
