/* `bhctl mark` and `bhctl audit`: single accesses to the doorbell. */
#include "arguments.h"
#include "commands.h"
#include "doorbell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int command_mark(int argc, char **argv)
{
	static const char *const EVENTS[] = {
		[BULKHEAD_MARK_RELEASE] = "release",
		[BULKHEAD_MARK_START] = "start",
		[BULKHEAD_MARK_FINISH] = "finish",
	};
	struct bulkhead vm;
	unsigned int event, task, job;

	if (argc != 4)
		end_with(STATUS_BAD, "mark expects an event, a task and a job, as in `bhctl mark start 1 0`");
	for (event = BULKHEAD_MARK_RELEASE; event <= BULKHEAD_MARK_FINISH; event++)
		if (strcmp(argv[1], EVENTS[event]) == 0)
			break;
	if (event > BULKHEAD_MARK_FINISH)
		end_with(STATUS_BAD, "the event is `%s`, expected release, start or finish", argv[1]);
	task = (unsigned int)number_argument("the task", argv[2], 0, 255);
	job = (unsigned int)number_argument("the job", argv[3], 0, UINT32_MAX);
	vm = open_doorbell();
	bulkhead_mark(&vm, event, task, job);
	return STATUS_YES;
}

int command_audit(int argc, char **argv)
{
	struct bulkhead vm;
	uint64_t wrong;

	if (argc > 1)
		end_with(STATUS_BAD, "audit takes no arguments, found `%s`", argv[1]);
	vm = open_doorbell();
	wrong = bulkhead_audit(&vm);
	if (wrong)
		end_with(STATUS_NO, "the tables of this VM do not agree with its plan at %#" PRIx64,
			 wrong & ~UINT64_C(1));
	puts("bhctl: audit ok");
	return STATUS_YES;
}
