/* Requests and questions on the doorbell. */
#include "doorbell.h"

#include <time.h>

/* For how long a request is repeated while others are in its way. */
#define PATIENCE_NS 10000000000
/* Time between two attempts. */
#define PAUSE_NS 100000

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Writes a value to a register until there is a result that is ours. */
static long ask(const struct bulkhead *vm, unsigned int offset, uint64_t value)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int64_t end = now_ns() + PATIENCE_NS;

	for (;;) {
		long result;

		doorbell_store(vm, offset, value);
		result = (long)doorbell_load(vm, BULKHEAD_RESULT);
		if (result != BULKHEAD_ERROR_BUSY && result != BULKHEAD_ERROR_TRY_AGAIN)
			return result;
		if (now_ns() >= end)
			return result;
		nanosleep(&pause, NULL);
	}
}

long bulkhead_request(const struct bulkhead *vm, uint64_t colors)
{
	return ask(vm, BULKHEAD_REQUEST, colors);
}

long bulkhead_color_of(const struct bulkhead *vm, const void *address)
{
	return ask(vm, BULKHEAD_LOCATE, (uint64_t)address);
}

bool bulkhead_info(const struct bulkhead *vm, unsigned int selector, uint64_t *value)
{
	*value = doorbell_load(vm, BULKHEAD_INFO + 8 * selector);
	/* A bit field may have its highest bits set: only this one value is an error. */
	return (int64_t)*value != BULKHEAD_ERROR_INVALID;
}

void bulkhead_mark(const struct bulkhead *vm, unsigned int event, unsigned int task,
		   unsigned int job)
{
	doorbell_store(vm, BULKHEAD_MARK,
		       (uint64_t)event << 40 | (uint64_t)(task & 0xff) << 32 | job);
}

uint64_t bulkhead_audit(const struct bulkhead *vm)
{
	return doorbell_load(vm, BULKHEAD_AUDIT);
}
