/*
 * A Linux with two CPUs and a serial port of its own, and memory that it shares with the root cell.
 */
#include <jailhouse/types.h>
#include <jailhouse/cell-config.h>

#ifndef RAM_BASE
#define RAM_BASE	0x70000000
#endif
#define MIB(n)		((n) << 20)
#define SHARED		(RAM_BASE + 0x8000000)
#define RW		(JAILHOUSE_MEM_READ | JAILHOUSE_MEM_WRITE)

struct {
	struct jailhouse_cell_desc cell;
	struct jailhouse_cpu cpus[2];
	struct jailhouse_memory mem_regions[7];
	struct jailhouse_irqchip irqchips[2];
	struct jailhouse_pci_device pci_devices[1];
} __attribute__((packed)) config = {
	.cell = {
		.signature = JAILHOUSE_CELL_DESC_SIGNATURE,
		.revision = JAILHOUSE_CONFIG_REVISION,
		.architecture = JAILHOUSE_ARM64,
		.name = "linux-cell",
		.flags = JAILHOUSE_CELL_PASSIVE_COMMREG,

		.num_cpus = ARRAY_SIZE(config.cpus),
		.num_memory_regions = ARRAY_SIZE(config.mem_regions),
		.num_irqchips = ARRAY_SIZE(config.irqchips),
		.num_pci_devices = ARRAY_SIZE(config.pci_devices),
		.vpci_irq_base = 108,

		.console = {
			.address = 0x9040000,
			.type = JAILHOUSE_CON_TYPE_PL011,
			.flags = JAILHOUSE_CON_ACCESS_MMIO | JAILHOUSE_CON_REGDIST_4,
		},
	},

	.cpus = {
		{
			.phys_id = 2,
		},
		{
			.phys_id = 0x101,
		},
	},

	.mem_regions = {
		/* shared with the root cell */ {
			.phys_start = SHARED,
			.virt_start = SHARED,
			.size = 0x1000,
			.flags = JAILHOUSE_MEM_READ | JAILHOUSE_MEM_ROOTSHARED,
		},
		JAILHOUSE_SHMEM_NET_REGIONS(0x78100000, 1),
		/* serial port 2 */ {
			.phys_start = 0x9040000,
			.virt_start = 0x9060000,
			.size = 0x200,
			.flags = RW | JAILHOUSE_MEM_IO | JAILHOUSE_MEM_IO_32,
		},
		/* RAM of the loader */ {
			.phys_start = SHARED + 0x10000,
			.virt_start = 0,
			.size = 0x10000,	/* 64 KiB */
			.flags = RW | JAILHOUSE_MEM_EXECUTE | JAILHOUSE_MEM_LOADABLE,
		},
		/* RAM */ {
			.phys_start = RAM_BASE,
			.virt_start = RAM_BASE,
			.size = 128 << 20,
			.flags = RW | JAILHOUSE_MEM_EXECUTE |
				JAILHOUSE_MEM_DMA | JAILHOUSE_MEM_LOADABLE,
		},
#ifdef CONFIG_CELL_EMMC
		/* card reader */ {
			.phys_start = 0x9050000,
			.virt_start = 0x9050000,
			.size = 0x1000,
			.flags = RW | JAILHOUSE_MEM_IO,
		},
#endif
		/* communication region */ {
			.virt_start = 0x80000000,
			.size = 0x00001000,
			.flags = RW | JAILHOUSE_MEM_COMM_REGION,
		},
	},

	.irqchips = {
		/* GIC */ {
			.address = 0x8000000,
			.pin_base = 32,
			.pin_bitmap = {
				1 << (41 - 32),
				0,
				0,
				(1 << (140 - 128)),
			},
		},
	},

	.pci_devices = {
		{
			.type = JAILHOUSE_PCI_TYPE_IVSHMEM,
			.bdf = 0 << 3,
			.bar_mask = JAILHOUSE_IVSHMEM_BAR_MASK_INTX,
			.shmem_regions_start = 0,
		},
	},
};
