/* The doorbell for commands. */
#ifndef TOOL_DOORBELL_H
#define TOOL_DOORBELL_H

#include "../bulkhead.h"

/* The doorbell; ends with a message where there is none. */
struct bulkhead open_doorbell(void);

#endif
