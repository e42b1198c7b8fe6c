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

(* Remote blocking: how long a job waits in the queue of a resource (vMPCP, Eq. 10 and 11, as the analysis has them).

   From [t0] on a job waits. One request behind it may have the resource then; besides, only requests ahead of it get it:
   those of [rivals] tasks, each of whose jobs has the resource for [C] slots at most, all of its sections with it together,
   and is pending for [P] slots at most. *)
Section Queue.
Variable rivals : nat.
Variables T P C : nat -> nat.
Variable arr : nat -> nat -> nat.
Variable has : nat -> nat -> nat -> bool.       (* in [x] job [k] of rival [h] has the resource *)
Variable behind : nat -> bool.                  (* in [x] a request behind has it *)
Variable waits : nat -> bool.
Variables t0 B : nat.

Record queue : Prop := {
  q_period : forall h, 0 < T h;
  q_sporadic : forall h k, arr h k + T h <= arr h (S k);
  q_length : forall h k t n, cnt (has h k) t n <= C h;
  (* Who gets the resource while another one waits has arrived before, and is pending. *)
  q_pending : forall h k x, t0 <= x -> has h k x = true -> arr h k <= x <= arr h k + P h /\ (t0 < x -> arr h k < x);
  q_behind : forall n, (forall x, t0 <= x < t0 + n -> waits x = true) -> cnt behind t0 n <= B;
  q_busy : forall x, t0 <= x -> waits x = true ->
    behind x = true \/ exists h k, h < rivals /\ has h k x = true }.

Hypothesis Q : queue.

(* The jobs of a rival that can have the resource in a window. *)
Lemma rival_le h w (p : nat -> bool) : 0 < w ->
  (forall x, t0 <= x < t0 + S w -> p x = true -> exists k, has h k x = true) ->
  cnt p t0 (S w) <= ceil (w + P h) (T h) * C h.
Proof.
  intros W Pr. pose proof (ceil_covers (w + P h) (T h) (q_period Q h)) as Cv. set (N := ceil (w + P h) (T h)) in *.
  destruct (Nat.eq_dec (cnt p t0 (S w)) 0) as [->|Some]; [lia|].
  destruct (cnt_some p t0 (S w)) as [x0 [X0 P0]]; [lia|]. destruct (Pr x0 X0 P0) as [k0 K0].
  destruct (q_pending Q h k0 x0 (proj1 X0) K0) as [A0 _].
  destruct (least (fun k => t0 <= arr h k + P h) (fun k => le_dec t0 (arr h k + P h)) k0)
    as [a [_ [Aa Am]]]; [lia|].
  assert (Sp : forall d, arr h a + d * T h <= arr h (a + d)).
  { induction d; simpl; [rewrite !Nat.add_0_r; lia|]. rewrite Nat.add_succ_r. pose proof (q_sporadic Q h (a + d)). lia. }
  rewrite <- sum_const. eapply Nat.le_trans; [apply split with (f := fun d => has h (a + d)) (N := N)|].
  - intros x X Px. destruct (Pr x X Px) as [k K]. destruct (q_pending Q h k x (proj1 X) K) as [A1 A2].
    assert (a <= k) by (destruct (le_lt_dec a k) as [|G]; auto; exfalso; apply (Am k G); lia).
    assert (L : arr h k < t0 + w).
    { destruct (Nat.eq_dec x t0) as [->|]; [lia|]. specialize (A2 ltac:(lia)). lia. }
    exists (k - a). replace (a + (k - a)) with k by lia. split; auto.
    destruct (le_lt_dec N (k - a)) as [G|]; auto. exfalso. specialize (Sp (k - a)).
    replace (a + (k - a)) with k in Sp by lia.
    assert (N * T h <= (k - a) * T h) by (apply Nat.mul_le_mono_r; lia). lia.
  - apply sum_ext. intros. apply (q_length Q).
Qed.

Theorem remote_le w : 0 < w -> B + sum (fun h => ceil (w + P h) (T h) * C h) rivals <= w ->
  exists x, t0 <= x <= t0 + w /\ waits x = false.
Proof.
  intros W D. destruct (Exists_dec (fun d => waits (t0 + d) = false) (seq 0 (S w))) as [E|E].
  - intros d. destruct (waits (t0 + d)); [right; discriminate|left; reflexivity].
  - apply Exists_exists in E. destruct E as [d [L F]]. apply in_seq in L. exists (t0 + d). split; auto. lia.
  - exfalso. assert (Wa : forall x, t0 <= x < t0 + S w -> waits x = true).
    { intros x X. destruct (waits x) eqn:F; auto. exfalso. apply E, Exists_exists. exists (x - t0).
      split; [apply in_seq; lia|]. now replace (t0 + (x - t0)) with x by lia. }
    (* A job of a rival has the resource; its number is not known, but less than [x]. *)
    assert (Num : forall h k x, has h k x = true -> t0 <= x -> k <= x).
    { intros h k x K X. destruct (q_pending Q h k x X K) as [A _].
      assert (G : k <= arr h k); [|lia]. clear A K X. induction k; [lia|].
      pose proof (q_sporadic Q h k). pose proof (q_period Q h). lia. }
    pose (of := fun h x => existsb (fun k => has h k x) (seq 0 (S x))).
    pose (any := fun x => existsb (fun h => of h x) (seq 0 rivals)).
    assert (All : S w <= cnt (fun x => behind x || any x) t0 (S w)).
    { rewrite <- (cnt_all (fun x => behind x || any x) t0 (S w)) at 1; [lia|]. intros x X. apply orb_true_iff.
      destruct (q_busy Q x ltac:(lia) (Wa x X)) as [|[h [k [Lh K]]]]; auto. right.
      apply existsb_exists. exists h. split; [apply in_seq; lia|]. apply existsb_exists. exists k. split; auto.
      apply in_seq. pose proof (Num h k x K ltac:(lia)). lia. }
    pose proof (cnt_or behind any t0 (S w)) as O. pose proof (q_behind Q (S w) Wa).
    assert (cnt any t0 (S w) <= sum (fun h => ceil (w + P h) (T h) * C h) rivals).
    { eapply Nat.le_trans; [apply split with (f := of) (N := rivals)|].
      - intros x _ A. apply existsb_exists in A. destruct A as [h [L A]]. apply in_seq in L. exists h. split; auto. lia.
      - apply sum_ext. intros h _. apply rival_le; auto. intros x _ A. apply existsb_exists in A.
        destruct A as [k [_ K]]. eauto. }
    lia.
Qed.
End Queue.

(* A job that waits for a request behind it for 2 slots, and then for one ahead of it for 3, exactly as long as that. *)
Definition first_arrives (h k : nat) := 1 + 100 * k.
Definition has_it (h k x : nat) := (k =? 0) && (3 <=? x) && (x <? 6).
Definition behind_it x := (1 <=? x) && (x <? 3).
Definition in_queue x := (1 <=? x) && (x <? 6).

Lemma queue_is_kept : queue 1 (fun _ => 100) (fun _ => 10) (fun _ => 3) first_arrives has_it behind_it in_queue 1 2.
Proof.
  assert (Short : forall (p : nat -> bool) a b, (forall x, p x = true -> a <= x < b) -> forall t n, cnt p t n <= b - a).
  { intros p a b H t n. induction n; simpl; [lia|]. destruct (p (t + n)) eqn:E; [|lia].
    destruct (le_lt_dec a t) as [L|L].
    - pose proof (cnt_max p t n). apply H in E. lia.
    - rewrite (cnt_sub p t (a - t) n) by (apply H in E; lia). rewrite cnt_none.
      + pose proof (cnt_max p (t + (a - t)) (n - (a - t))). apply H in E. lia.
      + intros x X. destruct (p x) eqn:Ex; auto. apply H in Ex. lia. }
  constructor.
  - intros. lia.
  - intros. unfold first_arrives. lia.
  - intros h k t n. apply (Short _ 3 6). unfold has_it. intros x. rewrite !andb_true_iff, Nat.leb_le, Nat.ltb_lt. tauto.
  - intros h k x _. unfold has_it, first_arrives. rewrite !andb_true_iff, Nat.eqb_eq, Nat.leb_le, Nat.ltb_lt. lia.
  - intros n _. apply (Short _ 1 3). unfold behind_it. intros x. rewrite andb_true_iff, Nat.leb_le, Nat.ltb_lt. tauto.
  - intros x _ W. unfold in_queue, behind_it, has_it in *. rewrite andb_true_iff, Nat.leb_le, Nat.ltb_lt in *.
    destruct (le_lt_dec 3 x); [right|left; lia]. exists 0, 0. rewrite !andb_true_iff, Nat.leb_le, Nat.ltb_lt. repeat split; lia.
Qed.
Example waits_for_5 : in_queue 5 = true /\ in_queue 6 = false /\ 2 + sum (fun _ => ceil (5 + 10) 100 * 3) 1 <= 5.
Proof. cbv. repeat split; lia. Qed.
