/* A randomly ordered list of cache lines. */
#include "chase.h"

#include <stddef.h>

/* Marsaglia's xorshift64: good enough for an order, and the same everywhere. */
static uint64_t random_below(uint64_t limit)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % limit;
}

/*
 * Sattolo's shuffle of the links: unlike that of Fisher and Yates, it leaves one ring through
 * all elements.
 */
void chase_prepare(struct chase_line *lines, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		lines[i].next = &lines[i];
	for (uint64_t i = count; i > 1; i--) {
		uint64_t other = random_below(i - 1);
		struct chase_line *next = lines[i - 1].next;

		lines[i - 1].next = lines[other].next;
		lines[other].next = next;
	}
}

struct chase_line *chase(struct chase_line *line, uint64_t loads)
{
	while (loads-- > 0)
		line = *(struct chase_line *volatile *)&line->next;
	return line;
}
