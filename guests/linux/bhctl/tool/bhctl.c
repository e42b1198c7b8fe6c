/* bhctl: shows and changes the cache colours of this VM and its processes, and talks with other VMs. */
#include "arguments.h"
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char USAGE[] =
	"Shows and changes the cache colours of this VM and of its processes, and talks with other VMs.\n"
	"\n"
	"usage: bhctl COMMAND ...\n"
	"\n"
	"  show                       the cache, the colours of the VM, and its pool of extra colours\n"
	"  run [OPTIONS] -- COMMAND   run a program in extra colours, with marks for measurements\n"
	"      --colors SET             its colours, as in 8-11 (dynamically linked programs)\n"
	"      --serial PORT            ask for them on this serial port, not on the doorbell\n"
	"      --heap SIZE              make a heap of this size first, so that it gets the colours, too\n"
	"      --again MS               ask again after this time, for memory allocated until then\n"
	"      --mark TASK              mark start and end of each run\n"
	"      --jobs N                 run it N times (1)\n"
	"      --cpu N                  on this CPU only\n"
	"      --policy rr:P | fifo:P   as a real-time task of this priority (other: not as one)\n"
	"      --discard                throw its standard output away\n"
	"  request [--pages N] [--keep] SET\n"
	"                             ask for colours for N pages (64) of bhctl itself, show the new\n"
	"                             colours, and give them back, unless --keep keeps them\n"
	"  serial [--port PORT] [--attempts N] [--pages N] --colors SET\n"
	"                             the same on the serial port of closed guests (/dev/ttyAMA1)\n"
	"  free [--memory SIZE]       take frames of extra colours back from pages whose process has\n"
	"                             died, by way of SIZE of free memory\n"
	"  color-of [--pages N]       the colours of N pages (64) of bhctl itself\n"
	"  mark EVENT TASK JOB        set a mark: release, start or finish\n"
	"  audit                      check the VM's second-stage tables against its plan\n"
	"  channels                   the channels from and to other VMs\n"
	"  send [OPTIONS] CHANNEL     send each line of standard input as a message\n"
	"      --bytes N                messages of N bytes (64), filled up with zeros\n"
	"      --count N                N of them at most\n"
	"      --every MS               one each MS milliseconds (0)\n"
	"      --numbers                send numbers and times, as test guests do, and not lines\n"
	"      --ring                   interrupt the readers after each message\n"
	"  receive [OPTIONS] CHANNEL  print each message, its number, and how many were lost before it\n"
	"      --bytes N                messages of N bytes (64)\n"
	"      --count N                end after N of them\n"
	"      --every MS               look each MS milliseconds (1)\n"
	"      --newest                 the newest message only, each time\n"
	"      --numbers                count torn messages among those of `send --numbers`\n"
	"      --timeout MS             end when no message comes for this time\n"
	"  latency, busyloop          tasks to measure with; --help tells more\n"
	"\n"
	"bhctl needs root, and for colours a VM with `extra_colors`; its output has key=value for scripts.\n"
	"Exit status: 0 yes, 1 the answer is no, 2 the question cannot be asked.\n";

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} COMMANDS[] = {
	{ "audit", command_audit },
	{ "busyloop", command_busyloop },
	{ "channels", command_channels },
	{ "color-of", command_color_of },
	{ "free", command_free },
	{ "latency", command_latency },
	{ "mark", command_mark },
	{ "receive", command_receive },
	{ "request", command_request },
	{ "run", command_run },
	{ "send", command_send },
	{ "serial", command_serial },
	{ "show", command_show },
};

/* Runs the command of this name; -1 if there is none. */
static int run_command(const char *name, int argc, char **argv)
{
	for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
		if (strcmp(COMMANDS[i].name, name) == 0)
			return COMMANDS[i].run(argc, argv);
	return -1;
}

int main(int argc, char **argv)
{
	/* Under the name of a command, by a symbolic link, it is that command. */
	int status = run_command(program_invocation_short_name, argc, argv);

	if (status >= 0)
		return status;
	if (argc < 2)
		end_with(STATUS_BAD, "expected a command; `bhctl --help` lists them");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		fputs(USAGE, stdout);
		return STATUS_YES;
	}
	status = run_command(argv[1], argc - 1, argv + 1);
	if (status < 0)
		end_with(STATUS_BAD, "there is no command `%s`; `bhctl --help` lists them", argv[1]);
	return status;
}
