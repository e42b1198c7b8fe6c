/* Tests of what needs no hypervisor: they run on the development machine. */
#include "../bulkhead.h"
#include "../lib/channel.h"
#include "../lib/doorbell.h"
#include "../lib/serial.h"
#include "../tool/chase.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int failures;

#define CHECK(condition)                                                              \
	do {                                                                          \
		if (!(condition)) {                                                   \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			failures++;                                                   \
		}                                                                     \
	} while (0)

static void colors_are_read_and_written(void)
{
	static const struct {
		const char *text;
		uint64_t colors;
	} SETS[] = {
		{ "none", 0 },
		{ "0", 1 },
		{ "8-11", 0xf00 },
		{ "0-3,8", 0x10f },
		{ "63", UINT64_C(1) << 63 },
		{ "0-63", UINT64_MAX },
		{ "0,2,4-5,62-63", 0xc000000000000035 },
	};
	static const char *const WRONG[] = {
		"", "64", "0-64", "3-1", "-1", "1-", "1,", ",1", "1 2", "a", "8-11x", "none,1",
		"99999999999999999999",
	};
	char text[BULKHEAD_COLORS_TEXT];
	uint64_t colors;

	for (size_t i = 0; i < sizeof SETS / sizeof *SETS; i++) {
		CHECK(bulkhead_parse_colors(SETS[i].text, &colors));
		CHECK(colors == SETS[i].colors);
		CHECK(strcmp(bulkhead_format_colors(colors, text), SETS[i].text) == 0);
	}
	for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
		CHECK(!bulkhead_parse_colors(WRONG[i], &colors));
	CHECK(bulkhead_parse_colors("5,4,4", &colors) && colors == 0x30);
	/* The longest text there is. */
	CHECK(strlen(bulkhead_format_colors(0x5555555555555555, text)) < BULKHEAD_COLORS_TEXT);
	CHECK(strlen(bulkhead_format_colors(0xdb6db6db6db6db6d, text)) < BULKHEAD_COLORS_TEXT);
}

static void answers_on_the_serial_port_are_understood(void)
{
	CHECK(serial_answer("ok 0") == 0);
	CHECK(serial_answer("ok 4711") == 4711);
	CHECK(serial_answer("error invalid") == BULKHEAD_ERROR_INVALID);
	CHECK(serial_answer("error no-memory") == BULKHEAD_ERROR_NO_MEMORY);
	CHECK(serial_answer("error busy") == BULKHEAD_ERROR_BUSY);
	CHECK(serial_answer("error whatever") == BULKHEAD_ERROR_REFUSED);
	CHECK(serial_answer("ok") == BULKHEAD_ERROR_NO_ANSWER);
	CHECK(serial_answer("ok -3") == BULKHEAD_ERROR_NO_ANSWER);
	CHECK(serial_answer("ok 3x") == BULKHEAD_ERROR_NO_ANSWER);
	CHECK(serial_answer("ok 99999999999999999999") == BULKHEAD_ERROR_NO_ANSWER);
	CHECK(serial_answer("colors 8-11") == BULKHEAD_ERROR_NO_ANSWER);
}

static void write_file(const char *folder, const char *name, const void *content, size_t bytes)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file || fwrite(content, 1, bytes, file) != bytes || fclose(file) != 0) {
		perror(path);
		exit(2);
	}
}

static void the_doorbell_is_found_in_a_device_tree(const char *tree)
{
	static const unsigned char REG[16] = { 0, 0, 0, 1, 0x0a, 0x0b, 0, 0, 0, 0, 0, 0, 0, 0, 0x10 };
	static const char OTHER[] = "arm,pl011\0arm,primecell";
	/* It need not be the first string. */
	static const char DOORBELL[] = "bulkhead,coloring-v2\0bulkhead,coloring";
	uint64_t address = 0;
	char node[512];

	snprintf(node, sizeof node, "%s/serial@9000000", tree);
	mkdir(node, 0700);
	write_file(node, "compatible", OTHER, sizeof OTHER);
	write_file(node, "reg", REG, sizeof REG);
	CHECK(!doorbell_find(tree, &address));

	snprintf(node, sizeof node, "%s/coloring@10a0b0000", tree);
	mkdir(node, 0700);
	write_file(node, "compatible", DOORBELL, sizeof DOORBELL);
	/* One cell for the address: not a tree of ours. */
	write_file(node, "reg", REG, 8);
	CHECK(!doorbell_find(tree, &address));
	write_file(node, "reg", REG, sizeof REG);
	CHECK(doorbell_find(tree, &address));
	CHECK(address == 0x10a0b0000);
	CHECK(!doorbell_find("/nowhere", &address));
}

static void make_channel(const char *tree, const char *folder, const char *name, unsigned char page,
			 bool writes)
{
	unsigned char reg[16] = { [4] = 0x30, [6] = page, [14] = 0x20 };
	char node[512];

	snprintf(node, sizeof node, "%s/%s", tree, folder);
	mkdir(node, 0700);
	write_file(node, "compatible", "bulkhead,channel", sizeof "bulkhead,channel");
	write_file(node, "reg", reg, sizeof reg);
	if (name)
		write_file(node, "label", name, strlen(name) + 1);
	if (writes)
		write_file(node, "bulkhead,writes", "", 0);
}

/* In the order of their addresses, whatever the order in the folder. */
static void channels_are_found_in_a_device_tree(const char *tree)
{
	static const unsigned char offset[4] = { 0, 0, 1, 0x78 };
	struct bulkhead_channel_info channels[3];
	char node[512];

	CHECK(channels_find(tree, channels, 3) == 0);
	make_channel(tree, "channel@30003000", "c", 0x30, false);
	make_channel(tree, "channel@30000000", "fifteen-letters", 0, false);
	make_channel(tree, "channel@30002000", "pose", 0x20, true);
	/* A channel without a name is none of ours. */
	make_channel(tree, "channel@30001000", NULL, 0x10, true);
	CHECK(channels_find(tree, channels, 3) == 3);
	CHECK(strcmp(channels[0].name, "fifteen-letters") == 0 && !channels[0].writes);
	CHECK(strcmp(channels[1].name, "pose") == 0 && channels[1].writes);
	CHECK(channels[1].address == 0x30002000 && channels[1].bytes == 0x2000);
	CHECK(strcmp(channels[2].name, "c") == 0 && channels[2].address == 0x30003000);
	CHECK(!channels[1].rings && channels[1].ring == 0);
	snprintf(node, sizeof node, "%s/channel@30002000", tree);
	write_file(node, "bulkhead,ring", offset, sizeof offset);
	CHECK(channels_find(tree, channels, 2) == 2);
	CHECK(!channels[0].rings && channels[1].rings && channels[1].ring == 0x178);
	CHECK(channels_find("/nowhere", channels, 3) == 0);
}

/* One with a whole page. */
static void the_bell_is_found_in_a_device_tree(const char *tree)
{
	unsigned char reg[16] = { [4] = 0x0a, [5] = 0x02, [14] = 0x08 };
	uint64_t address = 0;
	char node[512];

	snprintf(node, sizeof node, "%s/bell@a020000", tree);
	mkdir(node, 0700);
	write_file(node, "compatible", "bulkhead,bell", sizeof "bulkhead,bell");
	write_file(node, "reg", reg, sizeof reg);
	CHECK(!bell_find(tree, &address));
	reg[14] = 0x10;
	write_file(node, "reg", reg, sizeof reg);
	CHECK(bell_find(tree, &address) && address == 0x0a020000);
	CHECK(!bell_find("/nowhere", &address));
}

/* Registers that stand still: each load sees what is in memory. */
static void values_go_through_the_page(void)
{
	_Alignas(8) unsigned char page[BULKHEAD_PAGE_BYTES] = { 0 };
	struct bulkhead vm = { .page = page };
	uint64_t value;

	value = 4711;
	memcpy(page + BULKHEAD_RESULT, &value, 8);
	CHECK(bulkhead_request(&vm, 0xf00) == 4711);
	memcpy(&value, page + BULKHEAD_REQUEST, 8);
	CHECK(value == 0xf00);
	CHECK(bulkhead_color_of(&vm, page) == 4711);
	memcpy(&value, page + BULKHEAD_LOCATE, 8);
	CHECK(value == (uint64_t)page);
	bulkhead_mark(&vm, BULKHEAD_MARK_FINISH, 2, 7);
	memcpy(&value, page + BULKHEAD_MARK, 8);
	CHECK(value == 0x30200000007);
	value = (uint64_t)(int64_t)BULKHEAD_ERROR_INVALID;
	memcpy(page + BULKHEAD_INFO + 8 * BULKHEAD_INFO_POOL_FREE, &value, 8);
	CHECK(!bulkhead_info(&vm, BULKHEAD_INFO_POOL_FREE, &value));
	CHECK(bulkhead_info(&vm, BULKHEAD_INFO_POOL_FREE_OF + 63, &value) && value == 0);
}

static void a_chase_visits_every_line(void)
{
	enum { LINES = 1000 };
	static struct chase_line lines[LINES];
	static bool seen[LINES];
	struct chase_line *line = lines;
	unsigned int neighbours = 0;

	chase_prepare(lines, LINES);
	for (unsigned int i = 0; i < LINES; i++) {
		struct chase_line *next = chase(line, 1);

		CHECK(next >= lines && next < lines + LINES && !seen[next - lines]);
		seen[next - lines] = true;
		neighbours += next == line + 1;
		line = next;
	}
	CHECK(line == lines);
	CHECK(neighbours < LINES / 20);
	CHECK(chase(line, 3 * LINES) == line);
	CHECK(chase(line, 0) == line);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s EMPTY-FOLDER\n", argv[0]);
		return 2;
	}
	colors_are_read_and_written();
	answers_on_the_serial_port_are_understood();
	the_doorbell_is_found_in_a_device_tree(argv[1]);
	channels_are_found_in_a_device_tree(argv[1]);
	the_bell_is_found_in_a_device_tree(argv[1]);
	values_go_through_the_page();
	a_chase_visits_every_line();
	return failures > 0;
}
