/*
 * libbulkhead-color.so: colours for programs that know nothing of them.
 *
 * Loaded by LD_PRELOAD (`bhctl run` does that), it asks for colours before main() and gives
 * them back at the end. The environment says what to do:
 *
 *     BULKHEAD_COLORS            the colours, as in `8-11`
 *     BULKHEAD_SERIAL            ask on this serial port and not on the doorbell
 *     BULKHEAD_HEAP_BYTES        size of a heap that is made now, so that it gets the colours too
 *     BULKHEAD_COLORS_AGAIN_MS   ask again after this time, for what was allocated until then
 *     BULKHEAD_REPORT_FD         descriptor to which the result of each request is written
 */
#include "../bulkhead.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (128 * 1024)
#define SERIAL_ATTEMPTS 20

static struct {
	/* 0 until this process has asked: a process that it forks has nothing to give back. */
	pid_t owner;
	uint64_t colors;
	/* Null: the doorbell. */
	const char *port;
	struct bulkhead vm;
	int report;
	unsigned long again_ms;
} color = { .report = -1 };

static unsigned long number(const char *variable)
{
	const char *text = getenv(variable);

	return text ? strtoul(text, NULL, 10) : 0;
}

static long request(uint64_t colors)
{
	unsigned int made;

	return color.port ? bulkhead_request_by_serial(color.port, colors, SERIAL_ATTEMPTS, &made)
			  : bulkhead_request(&color.vm, colors);
}

/* Tells whoever started the program, and the user if the colours are refused. */
static void report(long result)
{
	if (result < 0)
		fprintf(stderr, "libbulkhead-color: %s\n", bulkhead_explain(result));
	if (color.report >= 0)
		dprintf(color.report, "%ld\n", result);
}

/* The main heap grows once and never shrinks; large blocks come from it as well. */
static void make_heap(size_t bytes)
{
	void *heap;

	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, -1);
	mallopt(M_TOP_PAD, 0);
	heap = malloc(bytes);
	if (heap)
		explicit_bzero(heap, bytes);
	free(heap);
}

static void touch_stack(void)
{
	volatile char pages[STACK_BYTES];

	for (size_t i = 0; i < sizeof pages; i += 4096)
		pages[i] = 0;
}

static void *ask_again(void *unused)
{
	const struct timespec wait = {
		.tv_sec = (time_t)(color.again_ms / 1000),
		.tv_nsec = (long)(color.again_ms % 1000) * 1000000,
	};

	(void)unused;
	nanosleep(&wait, NULL);
	report(request(color.colors));
	return NULL;
}

/* A thread that takes none of the program's signals. */
static void start_timer(void)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, ask_again, NULL) == 0)
		pthread_detach(thread);
	else
		fputs("libbulkhead-color: cannot start a thread to ask again\n", stderr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((constructor)) static void start(void)
{
	const char *colors = getenv("BULKHEAD_COLORS");
	const char *descriptor = getenv("BULKHEAD_REPORT_FD");
	size_t heap = number("BULKHEAD_HEAP_BYTES");
	int error;

	if (descriptor) {
		color.report = atoi(descriptor);
		/* Programs that this one starts have no report to make. */
		fcntl(color.report, F_SETFD, FD_CLOEXEC);
		unsetenv("BULKHEAD_REPORT_FD");
	}
	if (!colors || !bulkhead_parse_colors(colors, &color.colors)) {
		fputs("libbulkhead-color: BULKHEAD_COLORS names no colours; write for example 8-11\n",
		      stderr);
		return;
	}
	color.port = getenv("BULKHEAD_SERIAL");
	color.again_ms = number("BULKHEAD_COLORS_AGAIN_MS");
	error = color.port ? 0 : bulkhead_open(&color.vm);
	if (error) {
		report(error);
		return;
	}
	if (heap)
		make_heap(heap);
	touch_stack();
	bulkhead_make_present();
	color.owner = getpid();
	report(request(color.colors));
	if (color.again_ms)
		start_timer();
}

__attribute__((destructor)) static void end(void)
{
	if (color.owner == getpid())
		request(0);
}
