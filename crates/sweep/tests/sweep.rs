//! Sweeps: the same results whatever happens.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use sweep::{Error, Experiment, Journal, Shard, Summary};

const SERVERS: &str = r#"
title = "servers"
seed = 3
systems = 12
systems_per_shard = 5

[grid]
server = ["periodic", "sporadic"]
utilization = [0.2, 0.5, 0.9]

[servers]
vcpus = 2
tasks_per_vcpu = 2
simulate_ms = 300
"#;

const LOCKS: &str = r#"
title = "locks"
seed = 3
systems = 6

[grid]
section_us = [10, 2000]

[locks]
pcpus = 2
schemes = [
    { server = "periodic", overrun = true, analysis = "sound" },
    { server = "periodic", overrun = true, analysis = "published", budgets = "deferrable" },
]
"#;

const ALLOCATION: &str = r#"
title = "allocation"
seed = 3
systems = 4

[grid]
available = [2, 4]

[allocation]
tasks = [3, 5]
utilization = 1.0
vcpus = 2
colors = 4
schemes = ["cavm", "planner", "bound"]
"#;

fn experiment(text: &str) -> Experiment {
    Experiment::from_toml("test.toml", text).expect("the experiment is right")
}

/// The table of an experiment, computed with so many threads.
fn table(experiment: &Experiment, folder: &Path, jobs: usize) -> Vec<u8> {
    let mut journal = Journal::open(folder, experiment).expect("a journal");
    let jobs = NonZeroUsize::new(jobs).expect("jobs");
    assert!(journal.fill(experiment, jobs, |_| true).expect("a sweep"));
    fs::read(journal.finish(experiment).expect("a table")).expect("the table")
}

#[test]
fn tables_do_not_depend_on_threads_and_shards() {
    for text in [SERVERS, LOCKS, ALLOCATION] {
        let folder = tempfile::tempdir().unwrap();
        let one = table(&experiment(text), folder.path(), 1);
        assert_eq!(one, table(&experiment(text), folder.path(), 3));
        assert!(!folder.path().join("shards.jsonl").exists());
    }
}

/// A complete table is not lost to another experiment; the same one is computed again.
#[test]
fn a_table_of_another_experiment_is_kept() {
    let experiment = experiment(SERVERS);
    let folder = tempfile::tempdir().unwrap();
    let whole = table(&experiment, folder.path(), 1);
    let other = self::experiment(&SERVERS.replace("seed = ", "seed = 1"));
    let error = Journal::open(folder.path(), &other).unwrap_err();
    assert!(
        error.to_string().contains("systems.parquet has results of another experiment"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the table is there");
    assert_eq!(table(&experiment, folder.path(), 1), whole);
    std::fs::write(folder.path().join("systems.parquet"), "no table").unwrap();
    assert!(Journal::open(folder.path(), &experiment).is_err());
}

#[test]
fn an_interrupted_sweep_goes_on() {
    let experiment = experiment(SERVERS);
    let folder = tempfile::tempdir().unwrap();
    let whole = table(&experiment, folder.path(), 1);
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(folder.path(), &experiment).unwrap();
    let two = |finished| finished < 2;
    let one = NonZeroUsize::MIN;
    assert!(!journal.fill(&experiment, one, two).unwrap());
    let finished = journal.shards().count();
    assert!((2..experiment.shards() as usize).contains(&finished));
    assert!(matches!(journal.finish(&experiment), Err(Error::Shard(_))));

    // A line that was cut off is computed anew.
    let path = folder.path().join("shards.jsonl");
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"shard\":17,\"rows\":[[tr").unwrap();
    drop(file);
    let journal = Journal::open(folder.path(), &experiment).unwrap();
    assert_eq!(journal.shards().count(), finished);
    assert!(fs::read_to_string(&path).unwrap().ends_with("]]}\n"));
    drop(journal);
    assert_eq!(table(&experiment, folder.path(), 2), whole);
}

#[test]
fn folders_belong_to_one_experiment_and_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path(), &experiment(SERVERS)).unwrap();
    let second = Journal::open(folder.path(), &experiment(SERVERS));
    assert!(matches!(second, Err(Error::Busy { .. })));
    drop(journal);
    let other = SERVERS.replace("seed = 3", "seed = 4");
    let error = Journal::open(folder.path(), &experiment(&other)).unwrap_err();
    assert!(error.to_string().contains("another experiment"), "{error}");
    // Title and layout do not matter.
    let same = SERVERS.replace("\"servers\"", "\"a better title\"");
    assert!(Journal::open(folder.path(), &experiment(&same)).is_ok());
}

#[test]
fn shards_of_other_experiments_are_refused() {
    let (servers, locks) = (experiment(SERVERS), experiment(LOCKS));
    let shard = Shard::compute(&locks, 1, &AtomicBool::new(false)).unwrap().unwrap();
    let line = shard.to_line();
    assert_eq!(Shard::from_line(&locks, &line).unwrap(), shard);
    for wrong in [line.as_str(), "", "{}", &line.replace("\"shard\":1", "\"shard\":99")] {
        assert!(matches!(Shard::from_line(&servers, wrong), Err(Error::Shard(_))), "{wrong}");
    }
}

#[test]
fn tables_have_a_row_for_each_system() {
    let experiment = experiment(SERVERS);
    let folder = tempfile::tempdir().unwrap();
    table(&experiment, folder.path(), 2);
    let file = fs::File::open(folder.path().join("systems.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 6 * 12);
    let columns: Vec<String> = rows[0].get_column_iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(
        columns,
        [
            "point",
            "server",
            "utilization",
            "system",
            "planned_ok",
            "schedulable_ok",
            "budgets_ppb",
            "jobs",
            "misses",
            "closest_ppm",
            "exceeded"
        ]
    );
    let cells = |row: usize| -> Vec<Field> {
        rows[row].get_column_iter().map(|(_, field)| field.clone()).collect()
    };
    let places =
        [Field::Long(3), Field::Str("sporadic".into()), Field::Double(0.2), Field::Long(11)];
    assert_eq!(cells(3 * 12 + 11)[..4], places);
    for row in 0..rows.len() {
        let cells = cells(row);
        match cells[4] {
            Field::Bool(true) => assert_eq!(cells[10], Field::Long(0)),
            _ => assert_eq!((&cells[6], &cells[10]), (&Field::Null, &Field::Null)),
        }
        // What is schedulable misses no deadline.
        if cells[5] == Field::Bool(true) {
            assert_eq!(cells[8], Field::Long(0));
        }
    }
}

#[test]
fn summaries_count_what_is_finished() {
    let experiment = experiment(SERVERS);
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(folder.path(), &experiment).unwrap();
    assert_eq!(Summary::new(&experiment, &journal).points[0].cells[0], None);
    let never = AtomicBool::new(false);
    for shard in [0, 1, 3] {
        journal.add(Shard::compute(&experiment, shard, &never).unwrap().unwrap()).unwrap();
    }
    let summary = Summary::new(&experiment, &journal);
    assert_eq!(summary.points.iter().map(|it| it.systems).collect::<Vec<_>>(), [10, 5, 0, 0, 0, 0]);
    assert_eq!(
        summary.columns[..3],
        ["planned_ok_share", "schedulable_ok_share", "budgets_ppb_mean"]
    );
    assert!(summary.points[0].cells[0] == Some(1.0) && summary.holds());
    let budgets = summary.points[0].cells[2].unwrap();
    assert!((2e8..1e9).contains(&budgets), "{budgets}");
    // A simulation above a bound refutes the analysis.
    let line = r#"{"shard":2,"rows":[[true,true,500000000,9,0,1000001,1],[false,false,null,null,null,null,null]]}"#;
    journal.add(Shard::from_line(&experiment, line).unwrap()).unwrap();
    assert!(!Summary::new(&experiment, &journal).holds());
}

#[test]
fn mistakes_have_their_place() {
    let mistakes = |from: &str, to: &str| {
        let text = SERVERS.replace(from, to);
        assert_ne!(text, SERVERS);
        let entry = Experiment::from_toml("test.toml", &text).unwrap_err().entries().remove(0);
        (entry.line.unwrap(), entry.column.unwrap(), entry.message)
    };
    for (from, to, line, column, part) in [
        ("systems = 12", "systems = 0", 4, 11, "`systems` is 0"),
        ("systems = 12", "systems = \"12\"", 4, 11, "expected i64"),
        ("title = \"servers\"", "titel = \"servers\"", 2, 1, "unknown key `titel`"),
        ("utilization = [", "utilisation = [", 9, 1, "cannot have `utilisation`"),
        ("[0.2, 0.5, 0.9]", "[0.2, \"x\"]", 9, 15, "numbers among words"),
        ("[0.2, 0.5, 0.9]", "7", 9, 15, "expected a list of values"),
        ("\"sporadic\"", "\"polling\"", 8, 10, "not \"polling\""),
        ("[0.2, 0.5, 0.9]", "[-0.5]", 8, 10, "`utilization` is -0.5"),
        ("vcpus = 2\n", "vcpus = 0\n", 8, 10, "`vcpus` is 0"),
        ("simulate_ms = 300", "simulate = 300", 14, 1, "unknown key `simulate`"),
        ("[servers]", "[locks]\n[servers]", 12, 1, "one kind"),
        ("[servers]\nvcpus = 2\ntasks_per_vcpu = 2\nsimulate_ms = 300\n", "", 11, 1, "missing"),
    ] {
        let (at, at_column, message) = mistakes(from, to);
        assert_eq!((at, at_column), (line, column), "{to}: {message}");
        assert!(message.contains(part), "{to}: {message}");
    }
    let locks = LOCKS.replace("pcpus = 2", "lockers = 5");
    let error = Experiment::from_toml("test.toml", &locks).unwrap_err().to_string();
    assert!(error.contains("5 lockers"), "{error}");
    let none = ALLOCATION.replace("schemes = [\"cavm\", \"planner\", \"bound\"]", "");
    let error = Experiment::from_toml("test.toml", &none).unwrap_err().to_string();
    assert!(error.contains("`schemes` is missing"), "{error}");
}
