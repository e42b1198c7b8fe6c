//! The function that QEMU calls when it loads the plugin.

use std::ffi::{CStr, c_char, c_int};
use std::fs;
use std::sync::atomic::Ordering;

use bulkhead_cachescope_model::{CPUS_MAX, GuestTime, Machine, Options, prepare as prepare_folder};
use qemu_plugin_sys::{
    QEMU_PLUGIN_VERSION, qemu_info_t, qemu_plugin_id_t, qemu_plugin_register_atexit_cb,
    qemu_plugin_register_vcpu_init_cb, qemu_plugin_register_vcpu_tb_trans_cb,
};

use super::counters::Counters;
use super::current_cpu::CurrentCpu;
use super::model_time::ModelTime;
use super::target::Target;
use super::translate::on_translate;
use super::{STATE, State, on_cpu, on_exit, x86};

/// Version of the plugin interface that this plugin was made for.
// SAFETY: QEMU looks for this name and reads an `int`; nothing else has it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: c_int = QEMU_PLUGIN_VERSION as c_int;

/// Entry of the plugin: 0 if it is ready, otherwise QEMU ends.
///
/// # Safety
/// QEMU calls it once, with a valid `info` and `count` arguments.
// SAFETY: QEMU looks for this name and calls it as declared; nothing else has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: qemu_plugin_id_t,
    info: *const qemu_info_t,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    let arguments = (0..usize::try_from(count).unwrap_or(0)).map(|index| {
        // SAFETY: QEMU passes `count` strings.
        let argument = unsafe { CStr::from_ptr(*arguments.add(index)) };
        argument.to_string_lossy().into_owned()
    });
    // SAFETY: QEMU passes a valid description of the machine.
    match unsafe { prepare(&*info, &arguments.collect::<Vec<_>>()) } {
        Ok(state) => {
            let on_translate = match state.target {
                Target::Aarch64 => on_translate,
                Target::X86 => x86::on_translate,
            };
            STATE.store(Box::into_raw(Box::new(state)), Ordering::Relaxed);
            // SAFETY: callbacks of the types that QEMU expects; the state is there.
            unsafe {
                qemu_plugin_register_vcpu_init_cb(id, Some(on_cpu));
                qemu_plugin_register_vcpu_tb_trans_cb(id, Some(on_translate));
                qemu_plugin_register_atexit_cb(id, Some(on_exit), std::ptr::null_mut());
            }
            0
        }
        Err(message) => {
            eprintln!("cachescope: {message}");
            1
        }
    }
}

/// # Safety
/// `info` comes from QEMU, and tells the truth about its fields.
unsafe fn prepare(info: &qemu_info_t, arguments: &[String]) -> Result<State, String> {
    // SAFETY: QEMU gives the name of its target as a string.
    let target = unsafe { CStr::from_ptr(info.target_name) }.to_string_lossy();
    let emulated = Target::named(&target).filter(|_| info.system_emulation);
    let target = emulated.ok_or_else(|| {
        format!("made for qemu-system-aarch64 and qemu-system-x86_64, not for target {target}")
    })?;
    // SAFETY: the field that QEMU fills for system emulation.
    let cpus = unsafe { info.__bindgen_anon_1.system.max_vcpus };
    let cpus = usize::try_from(cpus).ok().filter(|cpus| (1..=CPUS_MAX).contains(cpus));
    let cpus = cpus.ok_or_else(|| format!("expected 1 to {CPUS_MAX} CPUs"))?;
    let options =
        Options::parse(arguments.iter().map(String::as_str), |path| fs::read_to_string(path))
            .map_err(|error| error.to_string())?;
    if target == Target::X86 && options.time == GuestTime::Model {
        return Err(
            "time=model: only for qemu-system-aarch64; guests on x86-64 see QEMU's time".into()
        );
    }
    if let Some(last) = options.last_cpu().filter(|&last| last >= cpus) {
        return Err(format!("cpu={last}:...: the machine has {cpus} CPU(s), from 0"));
    }
    let ends_slices = options.clock.cycles(options.quantum) > 0;
    let alone = cpus == 1 && options.time == GuestTime::Qemu;
    let current_cpu = CurrentCpu::find(alone, ends_slices)?;
    let out = options.out.clone();
    let machine = Machine::new(options, cpus);
    // A folder that cannot be written must not be found after an hour.
    prepare_folder(&machine, &out).map_err(|error| format!("out={}: {error}", out.display()))?;
    Ok(State {
        target,
        machine,
        current_cpu,
        registers: None,
        physical: None,
        thread: None,
        mark_level: None,
        counters: Counters::default(),
        model_time: ModelTime::default(),
        out,
    })
}
