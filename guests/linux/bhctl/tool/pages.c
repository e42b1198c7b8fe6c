/* Pages of bhctl itself, on which requests can be seen. */
#include "pages.h"

#include "arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096

unsigned char *new_memory(uint64_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		end_with(STATUS_BAD, "there are no %" PRIu64 " bytes of free memory", bytes);
	return memory;
}

/* The content of page `index`: its bytes are not all the same. */
static void fill(unsigned char content[PAGE_BYTES], uint64_t index)
{
	for (size_t i = 0; i < PAGE_BYTES; i++)
		content[i] = (unsigned char)(index * 31 + i * 7 + (i >> 8));
}

unsigned char *new_pages(uint64_t count)
{
	unsigned char *pages = new_memory(count * PAGE_BYTES);

	for (uint64_t i = 0; i < count; i++)
		fill(pages + i * PAGE_BYTES, i);
	return pages;
}

void show_pages(const struct bulkhead *vm, const unsigned char *pages, uint64_t count)
{
	unsigned char expected[PAGE_BYTES];
	uint64_t counts[64] = { 0 };
	uint64_t colors = 0;
	char text[BULKHEAD_COLORS_TEXT];

	for (uint64_t i = 0; i < count; i++) {
		const unsigned char *page = pages + i * PAGE_BYTES;
		long color = bulkhead_color_of(vm, page);

		if (color < 0 || color >= 64)
			end_with(STATUS_NO, "page %" PRIu64 " at %p has no colour: %s", i,
				 (const void *)page, bulkhead_explain(color));
		counts[color]++;
		colors |= UINT64_C(1) << color;
		fill(expected, i);
		if (memcmp(page, expected, PAGE_BYTES) != 0)
			end_with(STATUS_NO, "page %" PRIu64 " at %p has lost its content", i,
				 (const void *)page);
	}
	printf("bhctl: pages count=%" PRIu64 " colors=%s", count, bulkhead_format_colors(colors, text));
	for (unsigned int color = 0; color < 64; color++)
		if (counts[color])
			printf(" %u=%" PRIu64, color, counts[color]);
	putchar('\n');
}
