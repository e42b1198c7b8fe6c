set -eu

usage="usage: deadline.sh          give the threads of the VCPUs their CPUs, budgets and periods
       deadline.sh --check  change nothing, and say what is lacking
       deadline.sh --undo   take back what this script has changed
CPUS='2 3' names the CPUs of Linux for the PCPUs $pcpus, in place of '$default_cpus'."

cpus=${CPUS:-$default_cpus}
# A folder in place of /, for tests.
root=${ROOT:-}
cgroups=$root/sys/fs/cgroup
limits=$root/proc/sys/kernel
# In which groups QEMU's processes were before.
memory=$root/run/bulkhead-deadline-$system

lacks=0
lack() {
	echo "deadline.sh: $1" >&2
	lacks=$((lacks + 1))
}

note() {
	echo "deadline.sh: note: $1" >&2
}

fail() {
	echo "deadline.sh: $1" >&2
	exit 1
}

# Ends the script if something is lacking.
unless_lacking() {
	[ "$lacks" -eq 0 ] || fail "nothing was changed"
}

# Prints a file, or nothing if it cannot be read.
text() {
	cat "$1" 2>/dev/null || true
}

# Writes a text into a file that has another one.
put() {
	[ "$(text "$1")" = "$2" ] || echo "$2" >"$1" || fail "cannot write \`$2\` into $1"
}

# Prints the numbers of a list such as 0-2,5.
numbers() {
	echo "$1" | tr , '\n' | awk -F - 'NF { for (n = $1; n <= $NF; n++) print n }'
}

# Returns true if a word is one of the following words.
among() {
	wanted=$1
	shift
	for other; do
		[ "$other" != "$wanted" ] || return 0
	done
	return 1
}

# Prints the CPU of Linux for a PCPU.
cpu_of() {
	wanted=$1
	# shellcheck disable=SC2086 # one word each
	set -- $cpus
	for pcpu in $pcpus; do
		if [ "$pcpu" = "$wanted" ]; then
			echo "$1"
			return
		fi
		shift
	done
}

group_of() {
	echo "bulkhead-$system-cpu$1"
}

# Prints the processes with this name of a VM that have threads of VCPUs.
processes() {
	for file in "$root"/proc/[0-9]*/cmdline; do
		process=${file%/cmdline}
		{ tr '\0' '\n' <"$file"; } 2>/dev/null | awk -v vm="$1" '
			named {
				split($0, parts, ",")
				for (i in parts)
					if (parts[i] == "guest=" vm || (i == 1 && parts[i] == vm)) found = 1
			}
			{ named = $0 == "-name" || $0 == "--name" }
			END { exit !found }' || continue
		if grep -qsx 'CPU [0-9]*/KVM' "$process"/task/*/comm; then
			echo "${process##*/}"
		fi
	done
}

# Prints the threads of a VCPU of a process.
threads() {
	for file in "$root/proc/$1"/task/*/comm; do
		if [ "$(text "$file")" = "CPU $2/KVM" ]; then
			thread=${file%/comm}
			echo "${thread##*/}"
		fi
	done
}

# Prints the process and the thread of a VCPU, or lacks them.
find_thread() {
	found=$(processes "$1")
	case $found in
	'')
		lack "there is no QEMU for \`$1\` with threads such as \`CPU 0/KVM\`: start it with -accel kvm -name $1,debug-threads=on"
		return
		;;
	*[!0-9]*)
		lack "several processes are the VM \`$1\`: $(echo "$found" | tr '\n' ' ')"
		return
		;;
	esac
	thread=$(threads "$found" "$2")
	case $thread in
	'' | *[!0-9]*) lack "process $found, the VM \`$1\`, has not one thread \`CPU $2/KVM\`: start QEMU with -smp $3" ;;
	*) echo "$1 $2 $found $thread" ;;
	esac
}

check_kernel() {
	[ "$(id -u)" = 0 ] || lack "only root may do this"
	if ! command -v chrt >/dev/null; then
		lack "there is no chrt: apt-get install util-linux"
	elif ! chrt --help 2>&1 | grep -q sched-runtime; then
		lack "this chrt knows no SCHED_DEADLINE: apt-get install util-linux"
	fi
	# shellcheck disable=SC2046 # one word each
	among cpuset $(text "$cgroups/cgroup.controllers") ||
		lack "$cgroups is no cgroup v2 with cpusets: boot without systemd.unified_cgroup_hierarchy=0"
	shortest=$(text "$limits/sched_deadline_period_min_us")
	longest=$(text "$limits/sched_deadline_period_max_us")
	if [ -z "$shortest" ] || [ -z "$longest" ]; then
		lack "this Linux has no SCHED_DEADLINE, or is older than 5.6"
		return
	fi
	while read -r vm vcpu pcpu budget period; do
		[ "$budget" -ne 0 ] || continue
		[ "$period" -ge $((shortest * 1000)) ] ||
			lack "the period of VCPU $vcpu of \`$vm\` is too short for this Linux: sysctl -w kernel.sched_deadline_period_min_us=$((period / 1000))"
		[ "$period" -le $((longest * 1000)) ] ||
			lack "the period of VCPU $vcpu of \`$vm\` is too long for this Linux: sysctl -w kernel.sched_deadline_period_max_us=$(((period + 999) / 1000))"
	done <<-END
		$vcpus
	END
	case $(text "$root/sys/kernel/debug/sched/features") in
	*NO_HRTICK_DL*) note "budgets end at the next tick of Linux: echo HRTICK_DL > /sys/kernel/debug/sched/features" ;;
	esac
}

check_cpus() {
	online=$(numbers "$(text "$root/sys/devices/system/cpu/online")")
	# shellcheck disable=SC2086 # one word each
	set -- $cpus
	given=$#
	# shellcheck disable=SC2086 # one word each
	set -- $pcpus
	[ "$given" -eq $# ] || fail "CPUS='$cpus' has to be one CPU for each of the PCPUs $pcpus"
	seen=
	for cpu in $cpus; do
		case $cpu in
		*[!0-9]*) fail "CPUS='$cpus': \`$cpu\` is no number of a CPU" ;;
		esac
		# shellcheck disable=SC2086 # one word each
		! among "$cpu" $seen || fail "CPUS='$cpus' has CPU $cpu twice"
		# shellcheck disable=SC2086 # one word each
		among "$cpu" $online || lack "CPU $cpu is not online: name others in CPUS"
		seen="$seen $cpu"
	done
	for cpu in $online; do
		# shellcheck disable=SC2086 # one word each
		among "$cpu" $cpus || return 0
	done
	lack "no CPU is left for Linux and for QEMU's other threads: name others in CPUS, or plan with fewer PCPUs"
}

# SCHED_DEADLINE's own test, of each CPU alone: it says what would help.
check_shares() {
	runtime=$(text "$limits/sched_rt_runtime_us")
	period=$(text "$limits/sched_rt_period_us")
	[ -n "$runtime" ] && [ -n "$period" ] || return 0
	if [ "$runtime" -lt 0 ]; then
		lack "Linux does not test whether budgets fit: sysctl -w kernel.sched_rt_runtime_us=$((period * 95 / 100))"
		return
	fi
	# shellcheck disable=SC2086 # one word each
	set -- $shares
	for pcpu in $pcpus; do
		cpu=$(cpu_of "$pcpu")
		# Since Linux 6.12 a server keeps a part for threads without priorities.
		fair=$root/sys/kernel/debug/sched/fair_server/cpu$cpu
		server=$(text "$fair/runtime")
		kept=$((${server:-0} * 1000000 / $(text "$fair/period" | grep . || echo 1)))
		needed=$(($1 + kept))
		if [ "$1" -ne 0 ] && [ "$needed" -gt 1000000 ]; then
			lack "the budgets on CPU $cpu and its fair server are more than the CPU: echo 0 > $fair/runtime"
		elif [ "$1" -ne 0 ] && [ $((runtime * 1000000)) -lt $((needed * period)) ]; then
			lack "the budgets on CPU $cpu are more than Linux gives: sysctl -w kernel.sched_rt_runtime_us=$(((needed * period + 999999) / 1000000))"
		fi
		shift
	done
}

# Makes the CPU a partition of its own: SCHED_DEADLINE takes no thread that may not use its whole partition.
make_partition() {
	group=$cgroups/$(group_of "$1")
	[ -d "$group" ] || mkdir "$group"
	put "$group/cgroup.type" threaded
	put "$group/cpuset.cpus" "$1"
	put "$group/cpuset.cpus.partition" root
	state=$(text "$group/cpuset.cpus.partition")
	[ "$state" = root ] ||
		fail "CPU $1 is no partition, but \`$state\`: another group has it, or a parameter of the kernel isolates it"
	# systemd switches off controllers that no unit uses, unless a group below uses them.
	# shellcheck disable=SC2046 # one word each
	among cpuset $(text "$group/cgroup.subtree_control") || echo +cpuset >"$group/cgroup.subtree_control"
}

# A process and those of its threads that are in groups of their own have to be below the same group: the root.
move_process() {
	group=$(sed -n 's/^0:://p' "$root/proc/$1/cgroup")
	[ "$group" != / ] || return 0
	mkdir -p "$memory"
	echo "$group" >"$memory/$1"
	echo "$1" >>"$cgroups/cgroup.procs"
}

# Gives a thread of a process its CPU, budget and period; a budget of 0 is none.
set_thread() {
	group=$(group_of "$(cpu_of "$3")")
	if [ "$(sed -n 's/^0:://p' "$root/proc/$1/task/$2/cgroup")" != "/$group" ]; then
		echo "$2" >>"$cgroups/$group/cgroup.threads"
	fi
	[ "$4" -ne 0 ] || return 0
	chrt --deadline --reset-on-fork --sched-runtime "$4" --sched-deadline "$5" --sched-period "$5" --pid 0 "$2" ||
		fail "Linux refuses $4 ns in $5 ns for thread $2 of process $1. \`busy\`: the budgets do not fit; since Linux 6.12 its fair server has 5 % of each CPU"
}

apply() {
	check_kernel
	check_cpus
	unless_lacking
	check_shares
	list=$(mktemp)
	trap 'rm -f "$list"' EXIT
	while read -r vm vcpu pcpu budget period; do
		find_thread "$vm" "$vcpu" "$((vcpu + 1)) or more" >>"$list"
	done <<-END
		$vcpus
	END
	unless_lacking
	[ "$1" != --check ] || return 0
	# shellcheck disable=SC2046 # one word each
	if ! among cpuset $(text "$cgroups/cgroup.subtree_control"); then
		mkdir -p "$memory"
		: >"$memory/cpuset"
		echo +cpuset >"$cgroups/cgroup.subtree_control"
	fi
	for cpu in $cpus; do
		make_partition "$cpu"
	done
	awk '!seen[$3]++ { print $3 }' "$list" | while read -r process; do
		move_process "$process"
	done
	while read -r vm vcpu pcpu budget period; do
		while read -r of_vm of_vcpu process thread; do
			[ "$of_vm $of_vcpu" = "$vm $vcpu" ] || continue
			set_thread "$process" "$thread" "$pcpu" "$budget" "$period"
			echo "VCPU $vcpu of $vm: thread $thread on CPU $(cpu_of "$pcpu")"
		done <"$list"
	done <<-END
		$vcpus
	END
}

undo() {
	[ "$(id -u)" = 0 ] || fail "only root may do this"
	for cpu in $cpus; do
		group=$cgroups/$(group_of "$cpu")
		[ -d "$group" ] || continue
		text "$group/cgroup.threads" | while read -r thread; do
			if chrt --pid "$thread" | grep -q SCHED_DEADLINE; then
				chrt --other --pid 0 "$thread"
			fi
			echo "$thread" >>"$cgroups/cgroup.threads"
		done
		rmdir "$group"
	done
	for file in "$memory"/[0-9]*; do
		process=${file##*/}
		group=$cgroups$(text "$file")
		if [ "$(text "$root/proc/$process/cgroup")" = 0::/ ] && [ -d "$group" ]; then
			echo "$process" >>"$group/cgroup.procs"
		fi
		rm -f "$file"
	done
	if [ -e "$memory/cpuset" ]; then
		echo -cpuset >"$cgroups/cgroup.subtree_control" 2>/dev/null || note "cpusets are in use by now, and stay"
		rm -f "$memory/cpuset"
	fi
	[ ! -d "$memory" ] || rmdir "$memory"
}

case ${1:-} in
'' | --check) apply "${1:-}" ;;
--undo) undo ;;
*) fail "$usage" ;;
esac
