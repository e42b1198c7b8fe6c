/* Channels in a device tree. */
#ifndef CHANNEL_H
#define CHANNEL_H

#include "../bulkhead.h"

/*
 * Finds at most this number of channels in the device tree in this folder, by ascending address; returns
 * how many.
 */
size_t channels_find(const char *tree, struct bulkhead_channel_info *channels, size_t most);

/* Finds the page of the bell in the device tree in this folder. */
bool bell_find(const char *tree, uint64_t *address);

#endif
