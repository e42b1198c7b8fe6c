/*
 * libbulkhead: what a process in a Linux guest can ask of the Bulkhead hypervisor.
 *
 * All of it goes through the doorbell, a page of virtual device registers that the
 * process maps from /dev/mem: no kernel code, no system call per request. It needs root
 * and a VM whose description has `extra_colors`.
 *
 *     struct bulkhead vm;
 *     int error = bulkhead_open(&vm);
 *     ...allocate and touch everything that the task needs...
 *     long pages = bulkhead_request(&vm, 0xf00);          // colours 8-11
 *     if (pages < 0)
 *             fprintf(stderr, "%s\n", bulkhead_explain(pages));
 *
 * Functions return a negative error (BULKHEAD_ERROR_*, or a negative errno where they
 * say so), which bulkhead_explain() turns into a sentence. Colours are bit fields of
 * colours of the machine's last-level cache: bit 8 is colour 8.
 */
#ifndef BULKHEAD_H
#define BULKHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bulkhead_channel.h"

/* ---- The interface of the hypervisor. A test compares these with crates/abi. ---- */

#define BULKHEAD_COMPATIBLE "bulkhead,coloring"
#define BULKHEAD_PAGE_BYTES 0x1000
#define BULKHEAD_MAGIC_VALUE 0x444145484b4c5542 /* "BULKHEAD" */

/* Registers of the doorbell: byte offsets of 64-bit words. */
#define BULKHEAD_REQUEST 0x000 /* written: colours for this address space */
#define BULKHEAD_RESULT 0x008 /* read: result of the last write to REQUEST or LOCATE */
#define BULKHEAD_MARK 0x010 /* written: a mark */
#define BULKHEAD_AUDIT 0x018 /* read: 0, or the first wrong address | 1 */
#define BULKHEAD_MAGIC 0x020 /* read: BULKHEAD_MAGIC_VALUE */
#define BULKHEAD_LOCATE 0x030 /* written: a virtual address */
#define BULKHEAD_INFO 0x400 /* read: what the selector at INFO + 8 * selector names */

/* Selectors of bulkhead_info(). */
#define BULKHEAD_INFO_VM_INDEX 0
#define BULKHEAD_INFO_VCPU_COUNT 1
#define BULKHEAD_INFO_MEMORY_BYTES 4
#define BULKHEAD_INFO_LLC_BYTES 5
#define BULKHEAD_INFO_LLC_WAYS 6
#define BULKHEAD_INFO_LLC_LINE_BYTES 7
#define BULKHEAD_INFO_LLC_COLORS 8
#define BULKHEAD_INFO_COLORS 9
#define BULKHEAD_INFO_EXTRA_COLORS 10
#define BULKHEAD_INFO_POOL_FRAMES 11
#define BULKHEAD_INFO_POOL_FREE 12
#define BULKHEAD_INFO_POOL_FREE_OF 0x40 /* plus a colour */

/* Events of bulkhead_mark(). */
#define BULKHEAD_MARK_RELEASE 1
#define BULKHEAD_MARK_START 2
#define BULKHEAD_MARK_FINISH 3

/* Errors of the hypervisor. */
#define BULKHEAD_ERROR_NOT_SUPPORTED (-1)
#define BULKHEAD_ERROR_TRY_AGAIN (-11)
#define BULKHEAD_ERROR_NO_MEMORY (-12)
#define BULKHEAD_ERROR_DENIED (-13)
#define BULKHEAD_ERROR_BAD_ADDRESS (-14)
#define BULKHEAD_ERROR_BUSY (-16)
#define BULKHEAD_ERROR_INVALID (-22)

/* ---- The doorbell ---- */

/* The mapped doorbell of this VM. */
struct bulkhead {
	volatile unsigned char *page;
};

/* Errors of bulkhead_open(). */
#define BULKHEAD_ERROR_NO_DOORBELL (-101) /* the device tree names none */
#define BULKHEAD_ERROR_NOT_ROOT (-102) /* /dev/mem may not be opened */
#define BULKHEAD_ERROR_NO_MAPPING (-103) /* the kernel has no /dev/mem, or refuses the page */
#define BULKHEAD_ERROR_NO_MAGIC (-104) /* something else is at the address */

/* Maps the doorbell. 0 or one of the errors above. */
int bulkhead_open(struct bulkhead *vm);

/* Unmaps the doorbell. Colours stay as they are. */
void bulkhead_close(struct bulkhead *vm);

/*
 * Gives every page of this process that is present now frames of these extra colours of
 * the VM, spread evenly; the process does not notice. 0 gives the default colours again.
 * Call it at the end of the initialisation: later pages have the default colours, until
 * it is called again. Returns how many pages were found, or an error that changed nothing.
 *
 * A process that ends without giving its colours back leaves frames of the pool with
 * its pages, until their next owner asks for something (see `bhctl free --memory`).
 */
long bulkhead_request(const struct bulkhead *vm, uint64_t colors);

/*
 * Makes every page that this process has mapped present, as its last step before a request.
 * False if /proc is not there to say what is mapped.
 */
bool bulkhead_make_present(void);

/* Colour of the frame behind an address that has been touched, or an error. */
long bulkhead_color_of(const struct bulkhead *vm, const void *address);

/*
 * Value of BULKHEAD_INFO_*; false if the VM does not have it. Counts of the pool are
 * those of this moment.
 */
bool bulkhead_info(const struct bulkhead *vm, unsigned int selector, uint64_t *value);

/*
 * Marks an event (BULKHEAD_MARK_*) of a job of a task, for traces and measurements.
 * It costs one exit to the hypervisor.
 */
void bulkhead_mark(const struct bulkhead *vm, unsigned int event, unsigned int task,
		   unsigned int job);

/* Checks the stage-2 tables of the VM against its plan: 0, or the first wrong address | 1. */
uint64_t bulkhead_audit(const struct bulkhead *vm);

/* ---- The serial port of closed guests (vCache, section 4.2.2) ---- */

/* Nobody answered on the serial port. */
#define BULKHEAD_ERROR_NO_ANSWER (-110)
/* The hypervisor refused and named a reason that this library does not know. */
#define BULKHEAD_ERROR_REFUSED (-111)

/*
 * Does what bulkhead_request() does, by a message on the VM's second serial port (for
 * example /dev/ttyAMA1; `color_serial` in the description) and without the doorbell. The
 * hypervisor guesses which address space asks from what runs while this function is
 * busy: stop other tasks of the VM, or run at a real-time priority. `attempts` limits how
 * often it asks; `*made` is how often it did. A negative errno if the port cannot be used.
 */
long bulkhead_request_by_serial(const char *port, uint64_t colors, unsigned int attempts,
				unsigned int *made);

/* ---- Channels between VMs: bulkhead_channel.h has their messages ---- */

/* Errors of bulkhead_channel_map(), besides those of bulkhead_open(). */
#define BULKHEAD_ERROR_NO_CHANNEL (-105) /* the device tree names none that is called so */
#define BULKHEAD_ERROR_READ_ONLY (-106) /* another VM writes it */
#define BULKHEAD_ERROR_NO_RINGS (-107) /* the VM may not ring for it */

/* Most channels of a VM. */
#define BULKHEAD_CHANNELS_MAX 16

/* A channel of this VM. */
struct bulkhead_channel_info {
	char name[16];
	uint64_t address;
	uint64_t bytes;
	bool writes; /* whether this VM writes it */
	bool rings; /* whether it may ring for it */
	uint32_t ring; /* offset of its register in the page of the bell, if it may */
};

/* Finds at most this number of channels of this VM, by ascending address; returns how many. */
size_t bulkhead_channels(struct bulkhead_channel_info *channels, size_t most);

/*
 * Maps a channel of this VM from /dev/mem, to be read or also to be written. 0 or an error. The
 * memory takes aligned 64-bit accesses, such as those of bulkhead_channel.h.
 */
int bulkhead_channel_map(const char *name, bool writes, void **memory, size_t *bytes);

/*
 * Maps the register on which this VM rings for a channel from /dev/mem: 0 or an error. A store of any
 * value interrupts the readers, unless the limit of the channel is used up; a load returns how many
 * rings were refused since the machine started.
 */
int bulkhead_bell_map(const char *name, volatile uint32_t **ring);

/* ---- Text ---- */

/* Reads colours: `8-11`, `0-3,8`, or `none` for 0. False if that is not what it says. */
bool bulkhead_parse_colors(const char *text, uint64_t *colors);

/* Bytes that are always enough for bulkhead_format_colors(). */
#define BULKHEAD_COLORS_TEXT 192

/* Writes colours as bulkhead_parse_colors() reads them; returns `text`. */
char *bulkhead_format_colors(uint64_t colors, char text[BULKHEAD_COLORS_TEXT]);

/* A sentence for an error of this library: what is wrong and what to do. */
const char *bulkhead_explain(long error);

#endif
