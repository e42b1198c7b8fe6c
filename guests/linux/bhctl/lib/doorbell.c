/* Finds, maps and unmaps the doorbell. */
#include "doorbell.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICE_TREE "/proc/device-tree"

/* Content of a property of a node, at most `size` bytes; the number of bytes, or -1. */
static ssize_t read_property(const char *node, const char *property, void *content, size_t size)
{
	char path[512];
	ssize_t bytes;
	int file;

	if (snprintf(path, sizeof path, "%s/%s", node, property) >= (int)sizeof path)
		return -1;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	bytes = read(file, content, size);
	close(file);
	return bytes;
}

/* Whether one of the strings of `compatible` is the doorbell's. */
static bool is_doorbell(const char *node)
{
	char strings[256];
	ssize_t bytes = read_property(node, "compatible", strings, sizeof strings - 1);

	if (bytes <= 0)
		return false;
	strings[bytes] = '\0';
	for (const char *string = strings; string < strings + bytes; string += strlen(string) + 1)
		if (strcmp(string, BULKHEAD_COMPATIBLE) == 0)
			return true;
	return false;
}

/* The root of a guest's tree has two cells for addresses and sizes each. */
bool doorbell_find(const char *tree, uint64_t *address)
{
	DIR *folder = opendir(tree);
	struct dirent *entry;
	bool found = false;

	if (!folder)
		return false;
	while (!found && (entry = readdir(folder))) {
		unsigned char reg[16];
		char node[300];

		if (snprintf(node, sizeof node, "%s/%s", tree, entry->d_name) >= (int)sizeof node)
			continue;
		if (!is_doorbell(node) || read_property(node, "reg", reg, sizeof reg) != sizeof reg)
			continue;
		*address = 0;
		for (size_t i = 0; i < 8; i++)
			*address = *address << 8 | reg[i];
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
