/* Pages of bhctl itself, on which requests can be seen. */
#ifndef PAGES_H
#define PAGES_H

#include "../bulkhead.h"

/* Memory that has been touched; ends with a message if there is not so much. */
unsigned char *new_memory(uint64_t bytes);

/* Most pages that a command takes as an argument. */
#define PAGES_MAX (1 << 20)
/* How many it takes without one. */
#define PAGES_DEFAULT 64

/* As many touched pages, each with a content of its own. */
unsigned char *new_pages(uint64_t count);

/*
 * Prints how many of the pages have which colour: `bhctl: pages colors=8-9 8=32 9=32`. Ends
 * with a message if a page has lost its content.
 */
void show_pages(const struct bulkhead *vm, const unsigned char *pages, uint64_t count);

#endif
