/* Finds, maps and unmaps the doorbell. */
#include "doorbell.h"

#include "node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICE_TREE "/proc/device-tree"

bool doorbell_find(const char *tree, uint64_t *address)
{
	DIR *folder = opendir(tree);
	struct dirent *entry;
	bool found = false;

	if (!folder)
		return false;
	while (!found && (entry = readdir(folder))) {
		uint64_t bytes;
		char node[300];

		if (snprintf(node, sizeof node, "%s/%s", tree, entry->d_name) >= (int)sizeof node)
			continue;
		if (!node_is(node, BULKHEAD_COMPATIBLE) || !node_region(node, address, &bytes))
			continue;
		found = true;
	}
	closedir(folder);
	return found;
}

int bulkhead_open(struct bulkhead *vm)
{
	uint64_t address;
	void *page;
	int memory;

	if (!doorbell_find(DEVICE_TREE, &address))
		return BULKHEAD_ERROR_NO_DOORBELL;
	/* O_SYNC: as device memory, in which each access happens once and as it is written. */
	memory = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	if (memory < 0)
		return errno == EACCES || errno == EPERM ? BULKHEAD_ERROR_NOT_ROOT
							 : BULKHEAD_ERROR_NO_MAPPING;
	page = mmap(NULL, BULKHEAD_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory,
		    (off_t)address);
	close(memory);
	if (page == MAP_FAILED)
		return BULKHEAD_ERROR_NO_MAPPING;
	vm->page = page;
	if (doorbell_load(vm, BULKHEAD_MAGIC) != BULKHEAD_MAGIC_VALUE) {
		bulkhead_close(vm);
		return BULKHEAD_ERROR_NO_MAGIC;
	}
	return 0;
}

void bulkhead_close(struct bulkhead *vm)
{
	munmap((void *)vm->page, BULKHEAD_PAGE_BYTES);
	vm->page = NULL;
}
