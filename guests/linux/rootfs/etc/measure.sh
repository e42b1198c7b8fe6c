# For the jobs `latency` and `victim`: one task that is measured, on a CPU of its own or
# together with others. They source this file. guests/linux/README.md tells what the keys mean.

fail() {
	echo "linux: measure FAILED: $*"
	poweroff -f
}

# takes KEY...: no other job.KEY may be on the command line.
takes() {
	for key in $(env | sed -n 's/^job_\([a-z_]*\)=.*/\1/p'); do
		case " $* " in
		*" $key "*) ;;
		*) fail "there is no job.$key here, there are: $*" ;;
		esac
	done
}

# Goes on with a priority above everything that is measured; the job sleeps while that runs.
raise() {
	[ "$raised" ] && return
	export raised=1
	exec bhctl run --policy fifo:60 -- "$0"
}

# Settings that all jobs have in common.
prepare_machine() {
	# Some programs read the console if they may.
	exec </dev/null
	cpus=$(nproc)
	cpu=${job_cpu:-$((cpus > 1))}
	corunners=${job_corunners:-0}
	where=${job_where:-other}
	case $where in
	same) policy=${job_policy:-rr:50} ;;
	other)
		# Each has a CPU, and the kernel's threads may have some of its time.
		policy=${job_policy:-other}
		[ "$corunners" -lt "$cpus" ] ||
			fail "$corunners co-runners need $((corunners + 1)) CPUs, there are $cpus"
		;;
	*) fail "job.where is '$where', expected 'other' or 'same'" ;;
	esac
	bhctl audit || fail "marks and colours need a VM with extra_colors"
	# Real-time tasks may have all of the time.
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	[ -z "$job_slice_ms" ] || echo "$job_slice_ms" >/proc/sys/kernel/sched_rr_timeslice_ms ||
		fail "job.slice_ms is '$job_slice_ms', expected milliseconds"
}

# Starts co-runners one after another, until each says that it is ready. Their tasks are 2, 3, ...
start_corunners() {
	pids=
	for number in $(seq 1 "$corunners"); do
		on=$cpu
		[ "$where" = same ] || on=$(((cpu + number) % cpus))
		set -- --cpu "$on" --policy "$policy" --ready "/tmp/ready.$number"
		case ${job_corunner:-latency} in
		busyloop) set -- busyloop "$@" ;;
		latency)
			set -- latency "$@" --jobs 0 --task $((number + 1)) \
				--set "${job_corunner_set:-512KiB}" --loads "${job_corunner_loads:-100000}"
			[ -z "$job_corunner_colors" ] || set -- "$@" --colors "$job_corunner_colors"
			;;
		*) fail "job.corunner is '$job_corunner', expected 'latency' or 'busyloop'" ;;
		esac
		"$@" &
		pids="$pids $!"
		until [ -e "/tmp/ready.$number" ]; do
			kill -0 $! || fail "co-runner $number has ended"
			usleep 1000
		done
		echo "linux: measure co-runner $number on CPU $on: $*"
	done
}

stop_corunners() {
	[ -z "$pids" ] || kill -9 $pids
}
