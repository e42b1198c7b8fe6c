/* `bhctl request`, `serial`, `free` and `color-of`: requests of bhctl for itself. */
#include "arguments.h"
#include "commands.h"
#include "doorbell.h"
#include "pages.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_PORT "/dev/ttyAMA1"
#define DEFAULT_ATTEMPTS 20

/* Ends with a message if a request was refused. */
static void check(long result)
{
	if (result < 0)
		end_with(STATUS_NO, "%s", bulkhead_explain(result));
}

static void give_back(const struct bulkhead *vm)
{
	long pages = bulkhead_request(vm, 0);

	check(pages);
	printf("bhctl: free pages=%ld\n", pages);
}

int command_request(int argc, char **argv)
{
	static const struct option OPTIONS[] = {
		{ "pages", required_argument, NULL, 'p' },
		{ "keep", no_argument, NULL, 'k' },
		{ 0 },
	};
	uint64_t count = PAGES_DEFAULT, colors;
	bool keep = false;
	struct bulkhead vm;
	unsigned char *pages;
	long found;
	int option;

	while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
		if (option == 'p')
			count = number_argument("--pages", optarg, 1, PAGES_MAX);
		else if (option == 'k')
			keep = true;
		else
			return STATUS_BAD;
	}
	if (optind + 1 != argc)
		end_with(STATUS_BAD, "request expects colours, as in `bhctl request 8-11`");
	colors = colors_argument("the request", argv[optind]);
	vm = open_doorbell();
	pages = new_pages(count);
	found = bulkhead_request(&vm, colors);
	check(found);
	printf("bhctl: request pages=%ld\n", found);
	show_pages(&vm, pages, count);
	if (!keep)
		give_back(&vm);
	return STATUS_YES;
}

int command_serial(int argc, char **argv)
{
	static const struct option OPTIONS[] = {
		{ "colors", required_argument, NULL, 'c' },
		{ "port", required_argument, NULL, 'o' },
		{ "attempts", required_argument, NULL, 'a' },
		{ "pages", required_argument, NULL, 'p' },
		{ 0 },
	};
	const char *port = DEFAULT_PORT, *set = NULL;
	unsigned int attempts = DEFAULT_ATTEMPTS, made;
	uint64_t count = PAGES_DEFAULT, colors;
	struct bulkhead vm;
	unsigned char *pages;
	long found;
	int option;

	while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
		if (option == 'c')
			set = optarg;
		else if (option == 'o')
			port = optarg;
		else if (option == 'a')
			attempts = (unsigned int)number_argument("--attempts", optarg, 1, 10000);
		else if (option == 'p')
			count = number_argument("--pages", optarg, 1, PAGES_MAX);
		else
			return STATUS_BAD;
	}
	if (!set || optind != argc)
		end_with(STATUS_BAD, "serial expects colours, as in `bhctl serial --colors 8-11`");
	colors = colors_argument("--colors", set);
	pages = new_pages(count);
	found = bulkhead_request_by_serial(port, colors, attempts, &made);
	if (found < 0)
		end_with(STATUS_NO, "%s, %u attempts: %s", port, made, bulkhead_explain(found));
	printf("bhctl: serial pages=%ld attempts=%u\n", found, made);
	/* The doorbell is not needed for the request: it shows what came of it. */
	if (bulkhead_open(&vm) == 0) {
		show_pages(&vm, pages, count);
		give_back(&vm);
	}
	return STATUS_YES;
}

/*
 * Frames stay with pages whose process died until a later request finds these pages. So own
 * a lot of pages that nobody else had a use for, and ask for the default colours.
 */
int command_free(int argc, char **argv)
{
	static const struct option OPTIONS[] = { { "memory", required_argument, NULL, 'm' }, { 0 } };
	uint64_t bytes = 0;
	struct bulkhead vm;
	int option;

	while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
		if (option != 'm')
			return STATUS_BAD;
		bytes = size_argument("--memory", optarg);
	}
	if (optind != argc)
		end_with(STATUS_BAD, "free takes no argument but --memory, found `%s`", argv[optind]);
	vm = open_doorbell();
	if (bytes > 0)
		new_memory(bytes);
	give_back(&vm);
	return STATUS_YES;
}

int command_color_of(int argc, char **argv)
{
	static const struct option OPTIONS[] = { { "pages", required_argument, NULL, 'p' }, { 0 } };
	uint64_t count = PAGES_DEFAULT;
	struct bulkhead vm;
	int option;

	while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
		if (option != 'p')
			return STATUS_BAD;
		count = number_argument("--pages", optarg, 1, PAGES_MAX);
	}
	if (optind != argc)
		end_with(STATUS_BAD, "color-of takes no argument but --pages, found `%s`", argv[optind]);
	vm = open_doorbell();
	show_pages(&vm, new_pages(count), count);
	return STATUS_YES;
}
