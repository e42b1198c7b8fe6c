/* `bhctl show`: the cache, the colours of the VM, and its pool. */
#include "arguments.h"
#include "commands.h"
#include "doorbell.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t info(const struct bulkhead *vm, unsigned int selector)
{
	uint64_t value;

	if (!bulkhead_info(vm, selector, &value))
		end_with(STATUS_NO, "the hypervisor does not tell about item %u of this VM", selector);
	return value;
}

int command_show(int argc, char **argv)
{
	struct bulkhead vm;
	char defaults[BULKHEAD_COLORS_TEXT], extras[BULKHEAD_COLORS_TEXT];
	uint64_t extra;

	if (argc > 1)
		end_with(STATUS_BAD, "show takes no arguments, found `%s`", argv[1]);
	vm = open_doorbell();
	printf("bhctl: vm index=%" PRIu64 " vcpus=%" PRIu64 " memory_bytes=%" PRIu64 "\n",
	       info(&vm, BULKHEAD_INFO_VM_INDEX), info(&vm, BULKHEAD_INFO_VCPU_COUNT),
	       info(&vm, BULKHEAD_INFO_MEMORY_BYTES));
	printf("bhctl: cache bytes=%" PRIu64 " ways=%" PRIu64 " line_bytes=%" PRIu64
	       " colors=%" PRIu64 "\n",
	       info(&vm, BULKHEAD_INFO_LLC_BYTES), info(&vm, BULKHEAD_INFO_LLC_WAYS),
	       info(&vm, BULKHEAD_INFO_LLC_LINE_BYTES), info(&vm, BULKHEAD_INFO_LLC_COLORS));
	extra = info(&vm, BULKHEAD_INFO_EXTRA_COLORS);
	printf("bhctl: colors default=%s extra=%s\n",
	       bulkhead_format_colors(info(&vm, BULKHEAD_INFO_COLORS), defaults),
	       bulkhead_format_colors(extra, extras));
	printf("bhctl: pool frames=%" PRIu64 " free=%" PRIu64 "\n",
	       info(&vm, BULKHEAD_INFO_POOL_FRAMES), info(&vm, BULKHEAD_INFO_POOL_FREE));
	for (unsigned int color = 0; color < 64; color++)
		if (extra >> color & 1)
			printf("bhctl: pool color=%u free=%" PRIu64 "\n", color,
			       info(&vm, BULKHEAD_INFO_POOL_FREE_OF + color));
	return STATUS_YES;
}
