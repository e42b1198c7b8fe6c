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

int bulkhead_channel_map(const char *name, bool writes, void **memory, size_t *bytes)
{
	struct bulkhead_channel_info channels[BULKHEAD_CHANNELS_MAX];
	size_t count = bulkhead_channels(channels, BULKHEAD_CHANNELS_MAX);
	int file, access = writes ? PROT_READ | PROT_WRITE : PROT_READ;
	size_t found = 0;

	while (found < count && strcmp(channels[found].name, name) != 0)
		found++;
	if (found == count || channels[found].bytes > BULKHEAD_CHANNEL_BYTES_MAX)
		return BULKHEAD_ERROR_NO_CHANNEL;
	if (writes && !channels[found].writes)
		return BULKHEAD_ERROR_READ_ONLY;
	/* O_SYNC: as device memory, of which no cache keeps a copy. */
	file = open("/dev/mem", (writes ? O_RDWR : O_RDONLY) | O_SYNC | O_CLOEXEC);
	if (file < 0)
		return errno == EACCES || errno == EPERM ? BULKHEAD_ERROR_NOT_ROOT
							 : BULKHEAD_ERROR_NO_MAPPING;
	*bytes = (size_t)channels[found].bytes;
	*memory = mmap(NULL, *bytes, access, MAP_SHARED, file, (off_t)channels[found].address);
	close(file);
	return *memory == MAP_FAILED ? BULKHEAD_ERROR_NO_MAPPING : 0;
}
