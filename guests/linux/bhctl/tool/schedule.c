/* Where and when this process and those that it starts run. */
#include "schedule.h"

#include "arguments.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

void run_on_cpu(const char *number)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(number_argument("--cpu", number, 0, CPU_SETSIZE - 1), &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus) < 0)
		end_with(STATUS_BAD, "CPU %s cannot be used: %s", number, strerror(errno));
}

void run_with_policy(const char *policy)
{
	const char *priority = strchr(policy, ':');
	struct sched_param parameter = { 0 };
	int number;

	if (strcmp(policy, "other") == 0)
		number = SCHED_OTHER;
	else if (priority && strncmp(policy, "rr:", 3) == 0)
		number = SCHED_RR;
	else if (priority && strncmp(policy, "fifo:", 5) == 0)
		number = SCHED_FIFO;
	else
		end_with(STATUS_BAD, "--policy is `%s`, expected rr:PRIORITY, fifo:PRIORITY or other", policy);
	if (number != SCHED_OTHER)
		parameter.sched_priority = (int)number_argument("the priority", priority + 1, 1, 99);
	if (sched_setscheduler(0, number, &parameter) < 0)
		end_with(STATUS_BAD, "the policy %s is refused: %s", policy, strerror(errno));
}
