/* Makes all pages of a process present, so that a request finds them. */
#include "../bulkhead.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

/*
 * mlockall() would do the same, and wait for a kernel thread on every CPU, which is long
 * where real-time tasks leave no time to them. Mappings that cannot be populated, like those
 * of devices, have no pages that could be moved either.
 */
bool bulkhead_make_present(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	if (!maps)
		return false;
	while (fgets(line, sizeof line, maps)) {
		uintptr_t start, end;
		char read, write, execute, kind;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c%c%c%c", &start, &end, &read, &write,
			   &execute, &kind) != 6 ||
		    read != 'r')
			continue;
		/* A write breaks the sharing of private pages with their file, as the program would later. */
		madvise((void *)start, end - start,
			write == 'w' && kind == 'p' ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	}
	fclose(maps);
	return true;
}
