/* `busyloop`: keeps a CPU busy and touches no memory; the ideal neighbour of a task that is measured. */
#include "arguments.h"
#include "commands.h"
#include "schedule.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>

static const char USAGE[] =
	"Keeps a CPU busy without touching memory, until it is killed.\n"
	"\n"
	"usage: busyloop [--cpu N] [--policy rr:P|fifo:P] [--ready FILE]\n";

int command_busyloop(int argc, char **argv)
{
	static const struct option OPTIONS[] = {
		{ "cpu", required_argument, NULL, 'p' },
		{ "policy", required_argument, NULL, 'r' },
		{ "ready", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *ready = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
		switch (option) {
		case 'p':
			run_on_cpu(optarg);
			break;
		case 'r':
			run_with_policy(optarg);
			break;
		case 'd':
			ready = optarg;
			break;
		case 'h':
			fputs(USAGE, stdout);
			return STATUS_YES;
		default:
			return STATUS_BAD;
		}
	}
	if (optind != argc)
		end_with(STATUS_BAD, "`%s` is not expected here; --help lists the options", argv[optind]);
	if (ready && creat(ready, 0600) < 0)
		end_with(STATUS_BAD, "%s cannot be made", ready);
	for (;;)
		__asm__ volatile("");
}
