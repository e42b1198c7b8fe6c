################################################################################
#
# bulkhead
#
################################################################################

BULKHEAD_VERSION = 0.1.0
BULKHEAD_SITE = $(call qstrip,$(BR2_PACKAGE_HOST_BULKHEAD_RELEASE))
BULKHEAD_SITE_METHOD = local
BULKHEAD_LICENSE = MIT or Apache-2.0
BULKHEAD_LICENSE_FILES = LICENSE-APACHE LICENSE-MIT

ifeq ($(BR2_PACKAGE_HOST_BULKHEAD)$(BR_BUILDING),yy)
ifeq ($(BULKHEAD_SITE),)
$(error BR2_PACKAGE_HOST_BULKHEAD_RELEASE is empty: it has to name the folder of an unpacked release of Bulkhead)
endif
endif

define HOST_BULKHEAD_BUILD_CMDS
	$(@D)/bulkhead --version | grep -Fx 'bulkhead $(BULKHEAD_VERSION)' || \
		{ echo '$(BULKHEAD_SITE) has no release $(BULKHEAD_VERSION)' >&2; exit 1; }
endef

# The command looks for hypervisor and guests beside itself, in build.
define HOST_BULKHEAD_INSTALL_CMDS
	mkdir -p $(HOST_DIR)/bin $(HOST_DIR)/lib/bulkhead
	cp -R $(@D)/bulkhead $(@D)/build $(HOST_DIR)/lib/bulkhead
	ln -sf ../lib/bulkhead/bulkhead $(HOST_DIR)/bin/bulkhead
endef

$(eval $(host-generic-package))
