(* Locks: a published bound that a schedule exceeds.

   vMPCP (Kim, Wang and Rajkumar, RTSS 2014), Eq. 7, counts as local blocking of task [i] the longest
   section of a task below with a resource whose ceiling is above the priority of [i]. The ceiling of
   a resource is the highest priority of the tasks that use it. So Eq. 7 counts nothing for the
   highest task, not even for a resource that this task uses itself: [published_is_exceeded] has a
   schedule of the priority ceiling protocol (PCP) in which it waits nevertheless. With ceilings
   above *or equal*, as the analysis counts, the schedule is within the bound
   ([corrected_is_kept]). *)
From Coq Require Import Arith Lia Bool List.
From Bulkhead Require Import Counting Tasks.
Import ListNotations.

(* A section of a task: its resource, how much of a job is executed before it begins, its length. *)
Record section := { resource : nat; after : nat; length_of : nat }.

Section Protocol.
Variable tasks : nat.                           (* their number *)
Variable sections : nat -> list section.
Variables rel cost : nat -> nat -> nat.
Variable sched : nat -> option (nat * nat).

(* Task [h] uses resource [r]; the ceiling is the highest such task, the one with the least number. *)
Definition uses h r := existsb (fun s => resource s =? r) (sections h).
Definition ceiling r := hd tasks (filter (fun h => uses h r) (seq 0 tasks)).

Definition executed h k x := service sched h k x.
Definition inside s e := (after s <? e) && (e <? after s + length_of s).

(* Resource [r] is held in slot [x]: the job has executed a part of the section, and not all of it. *)
Definition holds h k r x := existsb (fun s => (resource s =? r) && inside s (executed h k x)) (sections h).

(* The job is at the start of a section with [r]. *)
Definition asks h k r x := existsb (fun s => (resource s =? r) && (executed h k x =? after s)) (sections h).

(* PCP for one job of each task. A job that executes is not in need of a resource that another one
   holds, and none that could enter any section while another task holds a resource with a ceiling
   at or above its priority; and it is the highest of those that are not blocked, or holds a
   resource for which a higher one waits. *)
Definition held_by_other h r x :=
  existsb (fun g => negb (g =? h) && holds g 0 r x) (seq 0 tasks).
Definition blocked h x := existsb (fun r => asks h 0 r x) (seq 0 (S tasks)) &&
  existsb (fun r => held_by_other h r x && (ceiling r <=? h)) (seq 0 (S tasks)).
Definition is_pending h x := (rel h 0 <=? x) && (executed h 0 x <? cost h 0).
Definition obeys_pcp n := forallb (fun x =>
  match sched x with
  | Some (h, k) => (k =? 0) && is_pending h x && negb (blocked h x)
      && forallb (fun g => negb (is_pending g x) || blocked g x) (seq 0 h)
  | None => forallb (fun g => negb (is_pending g x)) (seq 0 tasks)
  end) (seq 0 n).

(* Eq. 7 for local resources: sections of tasks below, by the ceilings that count. *)
Definition longest (counts : nat -> bool) h :=
  fold_right Nat.max 0 (map length_of (filter (fun s => counts (resource s)) (sections h))).
Definition blocking (counts : nat -> bool) i :=
  fold_right Nat.max 0 (map (longest counts) (seq (S i) (tasks - S i))).
Definition eq7 i := blocking (fun r => ceiling r <? i) i.
Definition corrected i := blocking (fun r => ceiling r <=? i) i.
End Protocol.

(* Two tasks with one resource. The low one enters its section of 3 slots, and then the high one
   comes, and wants the resource at once. *)
Definition two_sections h := match h with
  | 0 => [{| resource := 0; after := 0; length_of := 1 |}]
  | 1 => [{| resource := 0; after := 0; length_of := 3 |}]
  | _ => []
  end.
Definition releases (h k : nat) := match h, k with 0, 0 => 1 | _, _ => k * 100 end.
Definition costs (h k : nat) := match h, k with 0, 0 => 1 | 1, 0 => 3 | _, _ => 0 end.
Definition schedule x := nth x [Some (1, 0); Some (1, 0); Some (1, 0); Some (0, 0)] None.

Example it_is_pcp : obeys_pcp 2 two_sections releases costs schedule 100 = true.
Proof. vm_compute. reflexivity. Qed.

(* The highest task alone on its PCPU: the response time that follows from Eq. 7 is its execution
   time and its blocking, because nothing is above it. *)
Definition bound_by (b : nat) := costs 0 0 + b.

Theorem published_is_exceeded :
  ~ complete costs schedule 0 0 (releases 0 0 + bound_by (eq7 2 two_sections 0)).
Proof. vm_compute. lia. Qed.

Theorem corrected_is_kept :
  complete costs schedule 0 0 (releases 0 0 + bound_by (corrected 2 two_sections 0)).
Proof. vm_compute. lia. Qed.
