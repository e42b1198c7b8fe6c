/* Nodes of a device tree that is a folder. */
#ifndef NODE_H
#define NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Content of a property of a node, at most `size` bytes; the number of bytes, or -1. */
ssize_t node_property(const char *node, const char *property, void *content, size_t size);

/* Whether one of the strings of `compatible` is this one. */
bool node_is(const char *node, const char *compatible);

/* The first region of `reg`, with two cells for address and size each, as in a guest's root. */
bool node_region(const char *node, uint64_t *address, uint64_t *bytes);

#endif
