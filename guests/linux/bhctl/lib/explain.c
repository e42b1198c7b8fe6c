/* Errors as sentences. */
#include "../bulkhead.h"

#include <string.h>

const char *bulkhead_explain(long error)
{
	switch (error) {
	case BULKHEAD_ERROR_NO_DOORBELL:
		return "this VM has no doorbell: give it `extra_colors` and `extra_memory` in the "
		       "description of the system";
	case BULKHEAD_ERROR_NOT_ROOT:
		return "/dev/mem may not be opened: run this as root";
	case BULKHEAD_ERROR_NO_MAPPING:
		return "the kernel does not give out the memory through /dev/mem: it needs "
		       "CONFIG_DEVMEM, and no driver may own it";
	case BULKHEAD_ERROR_NO_MAGIC:
		return "the page that the device tree names is not the doorbell: the device tree is not "
		       "the one that Bulkhead made";
	case BULKHEAD_ERROR_NO_CHANNEL:
		return "this VM has no channel of this name: `bhctl channels` lists those that it has";
	case BULKHEAD_ERROR_READ_ONLY:
		return "another VM writes this channel: name this VM in `from` of a channel to write one";
	case BULKHEAD_ERROR_NO_RINGS:
		return "this VM may not ring for this channel: name this VM in `from`, and give the channel "
		       "`ring_every` in the description of the system";
	case BULKHEAD_ERROR_NOT_SUPPORTED:
		return "the hypervisor does not know this request: it is older than this program";
	case BULKHEAD_ERROR_TRY_AGAIN:
		return "other processes asked at the same time, again and again: try later";
	case BULKHEAD_ERROR_BUSY:
		return "requests of other processes are under way, again and again: try later";
	case BULKHEAD_ERROR_NO_MEMORY:
		return "the pool has too few free frames of these colours: free colours elsewhere, take "
		       "frames back from dead processes (bhctl free --memory), or give the VM more "
		       "`extra_memory`";
	case BULKHEAD_ERROR_BAD_ADDRESS:
		return "there is no memory of the VM behind the address, or the page tables do not end";
	case BULKHEAD_ERROR_DENIED:
		return "the VM has no right to do this";
	case BULKHEAD_ERROR_INVALID:
		return "these are not all extra colours of the VM: see `bhctl show`";
	case BULKHEAD_ERROR_NO_ANSWER:
		return "the serial port gave no answer: stop other tasks or run at a real-time priority, "
		       "and see that the VM has `color_serial` in the description of the system";
	case BULKHEAD_ERROR_REFUSED:
		return "the hypervisor refused the request on the serial port";
	default:
		return error < 0 ? strerror((int)-error) : "no error";
	}
}
