/* A randomly ordered list of cache lines. */
#ifndef CHASE_H
#define CHASE_H

#include <stdint.h>

#define CHASE_LINE_BYTES 64

/* An element of the list. */
struct chase_line {
	struct chase_line *next;
	unsigned char rest[CHASE_LINE_BYTES - sizeof(void *)];
};

/* Links all lines to one ring, in an order that is random and always the same. */
void chase_prepare(struct chase_line *lines, uint64_t count);

/* Follows the list for as many loads; returns where it ends. */
struct chase_line *chase(struct chase_line *line, uint64_t loads);

#endif
