/* Finds and maps the channels of this VM. */
#include "channel.h"

#include "node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICE_TREE "/proc/device-tree"
/* Bytes of the page of the bell. */
#define BELL_BYTES 4096

static int by_address(const void *one, const void *other)
{
	const struct bulkhead_channel_info *a = one, *b = other;

	return (a->address > b->address) - (a->address < b->address);
}

size_t channels_find(const char *tree, struct bulkhead_channel_info *channels, size_t most)
{
	DIR *folder = opendir(tree);
	struct dirent *entry;
	size_t count = 0;

	if (!folder)
		return 0;
	while (count < most && (entry = readdir(folder))) {
		struct bulkhead_channel_info *channel = channels + count;
		unsigned char offset[4];
		char node[300], nothing[1];
		ssize_t bytes;

		if (snprintf(node, sizeof node, "%s/%s", tree, entry->d_name) >= (int)sizeof node)
			continue;
		if (!node_is(node, BULKHEAD_CHANNEL_COMPATIBLE) ||
		    !node_region(node, &channel->address, &channel->bytes))
			continue;
		bytes = node_property(node, "label", channel->name, sizeof channel->name - 1);
		if (bytes <= 0)
			continue;
		channel->name[bytes] = '\0';
		channel->writes = node_property(node, BULKHEAD_CHANNEL_WRITES, nothing, 0) >= 0;
		channel->rings = node_property(node, BULKHEAD_BELL_RING, offset, sizeof offset) ==
				 sizeof offset;
		channel->ring = channel->rings ? (uint32_t)offset[0] << 24 | (uint32_t)offset[1] << 16 |
							 (uint32_t)offset[2] << 8 | offset[3]
					       : 0;
		count++;
	}
	closedir(folder);
	qsort(channels, count, sizeof *channels, by_address);
	return count;
}

size_t bulkhead_channels(struct bulkhead_channel_info *channels, size_t most)
{
	return channels_find(DEVICE_TREE, channels, most);
}

bool bell_find(const char *tree, uint64_t *address)
{
	DIR *folder = opendir(tree);
	struct dirent *entry;
	bool found = false;
	uint64_t bytes;

	if (!folder)
		return false;
	while (!found && (entry = readdir(folder))) {
		char node[300];

		if (snprintf(node, sizeof node, "%s/%s", tree, entry->d_name) < (int)sizeof node)
			found = node_is(node, BULKHEAD_BELL_COMPATIBLE) &&
				node_region(node, address, &bytes) && bytes >= BELL_BYTES;
	}
	closedir(folder);
	return found;
}

/* Finds a channel of this VM. */
static bool find(const char *name, struct bulkhead_channel_info *channel)
{
	struct bulkhead_channel_info channels[BULKHEAD_CHANNELS_MAX];
	size_t count = bulkhead_channels(channels, BULKHEAD_CHANNELS_MAX);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(channels[i].name, name) == 0) {
			*channel = channels[i];
			return true;
		}
	}
	return false;
}

/* Maps memory of the machine; 0 or an error. */
static int map(uint64_t address, size_t bytes, bool writes, void **memory)
{
	int access = writes ? PROT_READ | PROT_WRITE : PROT_READ;
	/* O_SYNC: as device memory, of which no cache keeps a copy. */
	int file = open("/dev/mem", (writes ? O_RDWR : O_RDONLY) | O_SYNC | O_CLOEXEC);

	if (file < 0)
		return errno == EACCES || errno == EPERM ? BULKHEAD_ERROR_NOT_ROOT
							 : BULKHEAD_ERROR_NO_MAPPING;
	*memory = mmap(NULL, bytes, access, MAP_SHARED, file, (off_t)address);
	close(file);
	return *memory == MAP_FAILED ? BULKHEAD_ERROR_NO_MAPPING : 0;
}

int bulkhead_channel_map(const char *name, bool writes, void **memory, size_t *bytes)
{
	struct bulkhead_channel_info channel;

	if (!find(name, &channel) || channel.bytes > BULKHEAD_CHANNEL_BYTES_MAX)
		return BULKHEAD_ERROR_NO_CHANNEL;
	if (writes && !channel.writes)
		return BULKHEAD_ERROR_READ_ONLY;
	*bytes = (size_t)channel.bytes;
	return map(channel.address, *bytes, writes, memory);
}

int bulkhead_bell_map(const char *name, volatile uint32_t **ring)
{
	struct bulkhead_channel_info channel;
	uint64_t address;
	void *page;
	int error;

	if (!find(name, &channel))
		return BULKHEAD_ERROR_NO_CHANNEL;
	if (!channel.rings || channel.ring > BELL_BYTES - sizeof **ring ||
	    !bell_find(DEVICE_TREE, &address))
		return BULKHEAD_ERROR_NO_RINGS;
	error = map(address, BELL_BYTES, true, &page);
	if (!error)
		*ring = (volatile uint32_t *)page + channel.ring / sizeof **ring;
	return error;
}
