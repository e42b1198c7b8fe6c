/*
 * `latency`: the paper's task (vCache, section 6.1.3). It follows a list whose elements, a
 * cache line each, are linked in random order: each load waits for the one before.
 */
#include "arguments.h"
#include "chase.h"
#include "commands.h"
#include "doorbell.h"
#include "pages.h"
#include "schedule.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char USAGE[] =
	"Follows a randomly ordered list through its working set and marks its jobs.\n"
	"\n"
	"usage: latency [OPTIONS]\n"
	"\n"
	"  --set SIZE           working set (512KiB), in lines of 64 bytes\n"
	"  --loads N            loads of a job (100000)\n"
	"  --jobs N             number of jobs (3), 0: until it is killed\n"
	"  --warm-up N          jobs before them, without marks (1)\n"
	"  --task N             number of the task in marks (1)\n"
	"  --colors SET         ask for these extra colours, at the end of the initialisation\n"
	"  --serial PORT        ask for them on this serial port, not on the doorbell\n"
	"  --cpu N              run on this CPU only\n"
	"  --policy rr:P|fifo:P run as a real-time task of this priority\n"
	"  --ready FILE         make this file when everything is ready\n"
	"  --unmarked           set no marks; it then needs no doorbell\n";

#define SERIAL_ATTEMPTS 20

struct plan {
	uint64_t bytes, loads, jobs, warm_up;
	unsigned int task;
	const char *colors, *port, *ready;
	bool unmarked;
};

static void read_arguments(int argc, char **argv, struct plan *plan)
{
	static const struct option OPTIONS[] = {
		{ "set", required_argument, NULL, 's' },
		{ "loads", required_argument, NULL, 'l' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "warm-up", required_argument, NULL, 'w' },
		{ "task", required_argument, NULL, 't' },
		{ "colors", required_argument, NULL, 'c' },
		{ "serial", required_argument, NULL, 'o' },
		{ "cpu", required_argument, NULL, 'p' },
		{ "policy", required_argument, NULL, 'r' },
		{ "ready", required_argument, NULL, 'd' },
		{ "unmarked", no_argument, NULL, 'u' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
		switch (option) {
		case 's':
			plan->bytes = size_argument("--set", optarg);
			break;
		case 'l':
			plan->loads = number_argument("--loads", optarg, 1, UINT64_MAX);
			break;
		case 'j':
			plan->jobs = number_argument("--jobs", optarg, 0, UINT32_MAX);
			break;
		case 'w':
			plan->warm_up = number_argument("--warm-up", optarg, 0, UINT32_MAX);
			break;
		case 't':
			plan->task = (unsigned int)number_argument("--task", optarg, 0, 255);
			break;
		case 'c':
			colors_argument("--colors", optarg);
			plan->colors = optarg;
			break;
		case 'o':
			plan->port = optarg;
			break;
		case 'p':
			run_on_cpu(optarg);
			break;
		case 'r':
			run_with_policy(optarg);
			break;
		case 'd':
			plan->ready = optarg;
			break;
		case 'u':
			plan->unmarked = true;
			break;
		case 'h':
			fputs(USAGE, stdout);
			exit(STATUS_YES);
		default:
			exit(STATUS_BAD);
		}
	}
	if (optind != argc)
		end_with(STATUS_BAD, "`%s` is not expected here; --help lists the options", argv[optind]);
	if (plan->bytes < CHASE_LINE_BYTES)
		end_with(STATUS_BAD, "--set is too small for a line of %d bytes", CHASE_LINE_BYTES);
}

/* Asks for the colours of the plan; the number of pages found. */
static long request(const struct plan *plan, const struct bulkhead *vm, unsigned int *attempts)
{
	uint64_t colors = colors_argument("--colors", plan->colors);
	long pages;

	*attempts = 1;
	pages = plan->port ? bulkhead_request_by_serial(plan->port, colors, SERIAL_ATTEMPTS, attempts)
			   : bulkhead_request(vm, colors);
	if (pages < 0)
		end_with(STATUS_NO, "colours %s, %u attempts: %s", plan->colors, *attempts,
			 bulkhead_explain(pages));
	return pages;
}

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int command_latency(int argc, char **argv)
{
	struct plan plan = {
		.bytes = 512 << 10, .loads = 100000, .jobs = 3, .warm_up = 1, .task = 1,
	};
	struct bulkhead vm = { 0 };
	struct chase_line *line;
	unsigned int attempts = 0;
	long pages = 0;
	int64_t start, elapsed = 0;

	read_arguments(argc, argv, &plan);
	if (!plan.unmarked || (plan.colors && !plan.port))
		vm = open_doorbell();
	line = (struct chase_line *)new_memory(plan.bytes);
	chase_prepare(line, plan.bytes / CHASE_LINE_BYTES);
	bulkhead_make_present();
	if (plan.colors)
		pages = request(&plan, &vm, &attempts);
	for (uint64_t job = 0; job < plan.warm_up; job++)
		line = chase(line, plan.loads);
	if (plan.ready && creat(plan.ready, 0600) < 0)
		end_with(STATUS_BAD, "%s cannot be made", plan.ready);
	for (uint64_t job = 0; plan.jobs == 0 || job < plan.jobs; job++) {
		start = now_ns();
		if (!plan.unmarked)
			bulkhead_mark(&vm, BULKHEAD_MARK_START, plan.task, (unsigned int)job);
		line = chase(line, plan.loads);
		if (!plan.unmarked)
			bulkhead_mark(&vm, BULKHEAD_MARK_FINISH, plan.task, (unsigned int)job);
		elapsed += now_ns() - start;
	}
	/* The end of the list is used, so that no load may be left out. */
	printf("latency: task=%u set_bytes=%" PRIu64 " loads=%" PRIu64 " jobs=%" PRIu64
	       " colors=%s pages=%ld attempts=%u guest_ns=%" PRId64 "%s\n",
	       plan.task, plan.bytes, plan.loads, plan.jobs, plan.colors ? plan.colors : "default", pages,
	       attempts, elapsed, line ? "" : " broken");
	if (plan.colors && !plan.port)
		bulkhead_request(&vm, 0);
	return STATUS_YES;
}
