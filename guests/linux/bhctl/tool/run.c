/* `bhctl run`: a program in extra colours, and marked. */
#include "arguments.h"
#include "commands.h"
#include "doorbell.h"
#include "schedule.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY "/lib/libbulkhead-color.so"

/* What the command line says. */
struct plan {
	const char *colors;
	const char *port;
	uint64_t heap_bytes;
	uint64_t again_ms;
	bool marked;
	unsigned int task;
	unsigned int jobs;
	bool discard;
	char **command;
};

/* What came of one run. */
struct result {
	/* As in a shell: the exit status, or 128 and the signal. */
	int status;
	/* Whether the program said what came of its request; pages, or an error. */
	bool reported;
	long pages;
	/* How long it took on the clock of the guest. */
	int64_t guest_ns;
};

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void set_number(const char *variable, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, value);
	setenv(variable, text, 1);
}

/* In the new process: what libbulkhead-color.so reads. */
static void set_environment(const struct plan *plan, int report)
{
	setenv("LD_PRELOAD", LIBRARY, 1);
	setenv("BULKHEAD_COLORS", plan->colors, 1);
	set_number("BULKHEAD_REPORT_FD", (uint64_t)report);
	if (plan->port)
		setenv("BULKHEAD_SERIAL", plan->port, 1);
	if (plan->heap_bytes)
		set_number("BULKHEAD_HEAP_BYTES", plan->heap_bytes);
	if (plan->again_ms)
		set_number("BULKHEAD_COLORS_AGAIN_MS", plan->again_ms);
}

/* The new process. The mark comes last: what is before it is not the program's time. */
static _Noreturn void become(const struct plan *plan, const struct bulkhead *vm, unsigned int job,
			     int report)
{
	if (plan->colors)
		set_environment(plan, report);
	if (plan->discard) {
		int null = open("/dev/null", O_WRONLY);

		if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
			end_with(STATUS_BAD, "/dev/null: %s", strerror(errno));
	}
	if (plan->marked)
		bulkhead_mark(vm, BULKHEAD_MARK_START, plan->task, job);
	execvp(plan->command[0], plan->command);
	end_with(STATUS_BAD, "%s: %s", plan->command[0], strerror(errno));
}

/* The last complete number in what the program reported; the pipe holds all of it. */
static void read_report(int report, struct result *result)
{
	char text[512];
	char *line, *rest;
	ssize_t bytes;

	fcntl(report, F_SETFL, O_NONBLOCK);
	bytes = read(report, text, sizeof text - 1);
	text[bytes > 0 ? bytes : 0] = '\0';
	for (rest = text; (line = strsep(&rest, "\n")) && rest;) {
		result->pages = strtol(line, NULL, 10);
		result->reported = true;
	}
}

static struct result run_once(const struct plan *plan, const struct bulkhead *vm, unsigned int job)
{
	struct result result = { .guest_ns = -now_ns() };
	int report[2], status;
	pid_t child;

	if (pipe(report) < 0)
		end_with(STATUS_BAD, "cannot make a pipe: %s", strerror(errno));
	fcntl(report[0], F_SETFD, FD_CLOEXEC);
	fflush(stdout);
	child = fork();
	if (child < 0)
		end_with(STATUS_BAD, "cannot start a process: %s", strerror(errno));
	if (child == 0)
		become(plan, vm, job, report[1]);
	close(report[1]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (plan->marked)
		bulkhead_mark(vm, BULKHEAD_MARK_FINISH, plan->task, job);
	result.guest_ns += now_ns();
	result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	read_report(report[0], &result);
	close(report[0]);
	return result;
}

static void read_arguments(int argc, char **argv, struct plan *plan)
{
	static const struct option OPTIONS[] = {
		{ "colors", required_argument, NULL, 'c' },
		{ "serial", required_argument, NULL, 's' },
		{ "heap", required_argument, NULL, 'h' },
		{ "again", required_argument, NULL, 'a' },
		{ "mark", required_argument, NULL, 'm' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "cpu", required_argument, NULL, 'p' },
		{ "policy", required_argument, NULL, 'r' },
		{ "discard", no_argument, NULL, 'd' },
		{ 0 },
	};
	int option;

	/* `+`: what follows the program's name is the program's. */
	while ((option = getopt_long(argc, argv, "+", OPTIONS, NULL)) != -1) {
		switch (option) {
		case 'c':
			colors_argument("--colors", optarg);
			plan->colors = optarg;
			break;
		case 's':
			plan->port = optarg;
			break;
		case 'h':
			plan->heap_bytes = size_argument("--heap", optarg);
			break;
		case 'a':
			plan->again_ms = number_argument("--again", optarg, 1, 1000000);
			break;
		case 'm':
			plan->marked = true;
			plan->task = (unsigned int)number_argument("--mark", optarg, 0, 255);
			break;
		case 'j':
			plan->jobs = (unsigned int)number_argument("--jobs", optarg, 1, UINT32_MAX);
			break;
		case 'p':
			run_on_cpu(optarg);
			break;
		case 'r':
			run_with_policy(optarg);
			break;
		case 'd':
			plan->discard = true;
			break;
		default:
			exit(STATUS_BAD);
		}
	}
	if (optind == argc)
		end_with(STATUS_BAD, "run expects a program, as in `bhctl run --colors 8-11 -- bzip2 file`");
	if (!plan->colors && (plan->port || plan->heap_bytes || plan->again_ms))
		end_with(STATUS_BAD, "--serial, --heap and --again are of use with --colors only");
	if (plan->colors && access(LIBRARY, R_OK) != 0)
		end_with(STATUS_BAD, "%s: %s; the programs' initial RAM disk has it (victims.cpio)", LIBRARY,
			 strerror(errno));
	plan->command = argv + optind;
}

int command_run(int argc, char **argv)
{
	struct plan plan = { .jobs = 1 };
	struct bulkhead vm = { 0 };
	int status = STATUS_YES;

	read_arguments(argc, argv, &plan);
	if (plan.marked)
		vm = open_doorbell();
	for (unsigned int job = 0; job < plan.jobs; job++) {
		struct result result = run_once(&plan, &vm, job);

		if (plan.marked || plan.colors)
			printf("bhctl: run task=%u job=%u status=%d colors=%s pages=%ld guest_ns=%" PRId64
			       "\n",
			       plan.task, job, result.status, plan.colors ? plan.colors : "default",
			       result.pages, result.guest_ns);
		if (plan.colors && !result.reported)
			end_with(STATUS_NO, "%s did not load %s: is it linked statically?", plan.command[0],
				 LIBRARY);
		if (result.status != 0 || result.pages < 0)
			status = STATUS_NO;
	}
	return status;
}
