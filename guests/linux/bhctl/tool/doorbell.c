/* The doorbell for commands. */
#include "doorbell.h"

#include "arguments.h"

struct bulkhead open_doorbell(void)
{
	struct bulkhead vm;
	int error = bulkhead_open(&vm);

	if (error)
		end_with(STATUS_BAD, "%s", bulkhead_explain(error));
	return vm;
}
