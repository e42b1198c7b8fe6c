/* Access to the registers of the doorbell. */
#ifndef DOORBELL_H
#define DOORBELL_H

#include "../bulkhead.h"

/* Address of the doorbell in the device tree in this folder; false if it has none. */
bool doorbell_find(const char *tree, uint64_t *address);

/*
 * The hypervisor emulates single 64-bit loads and stores without write-back only, which a
 * compiler does not promise for a volatile object.
 */
static inline uint64_t doorbell_load(const struct bulkhead *vm, unsigned int offset)
{
#ifdef __aarch64__
	uint64_t value;

	__asm__ volatile("ldr %0, [%1]" : "=r"(value) : "r"(vm->page + offset) : "memory");
	return value;
#else
	return *(volatile uint64_t *)(vm->page + offset);
#endif
}

static inline void doorbell_store(const struct bulkhead *vm, unsigned int offset, uint64_t value)
{
#ifdef __aarch64__
	__asm__ volatile("str %0, [%1]" : : "r"(value), "r"(vm->page + offset) : "memory");
#else
	*(volatile uint64_t *)(vm->page + offset) = value;
#endif
}

#endif
