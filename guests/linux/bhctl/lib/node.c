/* Reads nodes of a device tree that is a folder. */
#include "node.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

ssize_t node_property(const char *node, const char *property, void *content, size_t size)
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

bool node_is(const char *node, const char *compatible)
{
	char strings[256];
	ssize_t bytes = node_property(node, "compatible", strings, sizeof strings - 1);

	if (bytes <= 0)
		return false;
	strings[bytes] = '\0';
	for (const char *string = strings; string < strings + bytes; string += strlen(string) + 1)
		if (strcmp(string, compatible) == 0)
			return true;
	return false;
}

static uint64_t number(const unsigned char *cells)
{
	uint64_t number = 0;

	for (size_t i = 0; i < 8; i++)
		number = number << 8 | cells[i];
	return number;
}

bool node_region(const char *node, uint64_t *address, uint64_t *bytes)
{
	unsigned char reg[16];

	if (node_property(node, "reg", reg, sizeof reg) != sizeof reg)
		return false;
	*address = number(reg);
	*bytes = number(reg + 8);
	return true;
}
