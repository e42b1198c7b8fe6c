(* Where lost slots come from: sections of tasks below, reloads of cache lines, and the hypervisor.

   [Tasks.response] needs a limit on the slots that are lost in a busy window. Here are rules for
   schedules from which such a limit follows: [losses]. *)
From Coq Require Import Arith Lia Bool List.
From Bulkhead Require Import Counting Tasks.

(* Events that recur like the releases of a task: at least [T] apart, late by at most [J]. If each
   event takes at most [c] slots, then those of a window take no more than [ceil (w + J) T] times
   [c], whatever happens in these slots. *)
Lemma events_le (T J c : nat) (ideal real : nat -> nat) (of : nat -> nat -> bool) p t0 w :
  0 < T -> (forall k, ideal k + T <= ideal (S k)) ->
  (forall k, ideal k <= real k <= ideal k + J) ->
  (forall k t n, cnt (of k) t n <= c) ->
  (forall x, t0 <= x < t0 + w -> p x = true -> exists k, t0 <= real k < t0 + w /\ of k x = true) ->
  cnt p t0 w <= ceil (w + J) T * c.
Proof.
  intros P S R K B.
  (* A task whose jobs need no time. *)
  pose (V := Build_valid (fun _ => 0) (fun _ => T) (fun _ => J) (fun _ => ideal) (fun _ => real)
    (fun _ _ => 0) (fun _ => None) (fun _ _ => le_n 0) (fun _ => P) (fun _ => S) (fun _ => R)
    (fun x h k (E : None = Some (h, k)) => match E with eq_refl => I end)).
  eapply (per_job_le _ _ _ _ _ _ _ V 0 t0 w _ p of c); eauto.
  apply ceil_covers; auto.
Qed.

Section Losses.
Variables C T J : nat -> nat.
Variables arr rel cost : nat -> nat -> nat.
Variable sched : nat -> option (nat * nat).
Variable supply : nat -> bool.
Variables i m : nat.                            (* a task, and the last one with its priority *)
Hypothesis V : valid C T J arr rel cost sched.

Notation busy := (busy rel cost sched).
Notation busy_window := (busy_window rel cost sched).
Notation lost := (lost sched supply).
Notation jobs := (jobs T J).

(* Sections. [blocked x]: a task below [m] executes in [x], and nothing interrupts it. Such a
   section began when no job of [m] or above was pending, and has no more than [B] slots. *)
Variable blocked : nat -> bool.
Variable B : nat.
Definition sections := forall x, blocked x = true ->
  exists s, s <= x /\ ~ busy m s /\ cnt blocked s (S x - s) <= B.

Lemma blocked_le t0 w : sections -> (forall x, t0 <= x < t0 + w -> busy m x) ->
  cnt blocked t0 w <= B.
Proof.
  intros Sec. induction w; intros Bu; [simpl; lia|].
  destruct (blocked (t0 + w)) eqn:E.
  - destruct (Sec _ E) as [s [L [N K]]].
    assert (s < t0) by (destruct (le_lt_dec t0 s); auto; exfalso; apply N, Bu; lia).
    replace (S (t0 + w) - s) with ((t0 - s) + S w) in K by lia.
    rewrite cnt_add in K. replace (s + (t0 - s)) with t0 in K by lia. lia.
  - simpl. rewrite E, Nat.add_0_r. apply IHw. intros; apply Bu; lia.
Qed.

(* Reloads. [reload h k x]: in [x] lines are loaded again that job [k] of task [h] evicted. This is
   for no more than [gamma h] slots, and never before the job is released. *)
Variable reload : nat -> nat -> nat -> bool.
Variable gamma : nat -> nat.
Definition reloads := (forall h k t w, cnt (reload h k) t w <= gamma h) /\
  forall h k x, reload h k x = true -> rel h k <= x.

(* The hypervisor. Slots in which it executes in the time of the VCPU belong to events: event [k] of
   source [e] is at [real e k] and takes at most [each e] slots; what remains of events before the
   window takes no more than [once]. *)
Variables each period late : nat -> nat.
Variables ideal real : nat -> nat -> nat.
Variable takes : nat -> nat -> nat -> bool.
Variable before : nat -> nat -> bool.           (* start of the window, slot *)
Variables sources once : nat.
Definition events :=
  (forall e, 0 < period e) /\
  (forall e k, ideal e k + period e <= ideal e (S k)) /\
  (forall e k, ideal e k <= real e k <= ideal e k + late e) /\
  (forall e k t w, cnt (takes e k) t w <= each e) /\
  (forall t0 w, cnt (before t0) t0 w <= once).

(* A slot of [p] in a busy window has one of these three reasons: [p] is what is lost, or a part of that. *)
Variable p : nat -> bool.
Definition reasons := forall t0 w x, busy_window m t0 w -> t0 <= x < t0 + w -> p x = true ->
  blocked x = true \/
  (exists h k, h <= m /\ h <> i /\ t0 <= rel h k /\ reload h k x = true) \/
  before t0 x = true \/
  (exists e k, e < sources /\ t0 <= real e k < t0 + w /\ takes e k x = true).

Definition overhead w := once + sum (fun e => ceil (w + late e) (period e) * each e) sources.
Definition reloading w := sum (fun h => if h =? i then 0 else jobs h w * gamma h) (S m).

Theorem losses : sections -> reloads -> events -> reasons ->
  forall t0 w, busy_window m t0 w -> cnt p t0 w <= B + reloading w + overhead w.
Proof.
  intros Sec [Re1 Re2] [E1 [E2 [E3 [E4 E5]]]] Rs t0 w BW.
  (* The reasons as properties of slots; a job or an event is found by a bounded search. *)
  pose (re := fun h x => negb (h =? i) && existsb (fun k => (t0 <=? rel h k) && (rel h k <? t0 + w) && reload h k x)
                                 (seq 0 (t0 + w))).
  pose (ev := fun e x => existsb (fun k => (t0 <=? real e k) && (real e k <? t0 + w) && takes e k x)
                                 (seq 0 (t0 + w))).
  assert (real_ge : forall e k, k <= real e k).
  { intros e k. assert (G : k <= ideal e k).
    { induction k; [lia|]. pose proof (E2 e k). specialize (E1 e). lia. }
    pose proof (E3 e k). lia. }
  pose (any := fun (f : nat -> nat -> bool) n x => existsb (fun d => f d x) (seq 0 n) : bool).
  assert (A : forall f n, cnt (any f n) t0 w <= sum (fun d => cnt (f d) t0 w) n).
  { intros f n. apply split with (f := f). intros x _ X. apply existsb_exists in X.
    destruct X as [d [D F]]. apply in_seq in D. exists d. split; auto; lia. }
  assert (X : cnt p t0 w <= cnt (fun x => (blocked x || any re (S m) x)
                                             || (before t0 x || any ev sources x)) t0 w).
  { apply cnt_le. intros x R L. apply orb_true_iff. rewrite !orb_true_iff.
    destruct (Rs t0 w x BW R L) as [?|[[h [k [Hh [Hi [Rk F]]]]]|[?|[e [k [He [Rk F]]]]]]]; auto.
    - left; right. apply existsb_exists. exists h. split; [apply in_seq; lia|].
      unfold re. apply andb_true_iff. split; [now apply negb_true_iff, Nat.eqb_neq|].
      pose proof (Re2 _ _ _ F). pose proof (rel_ge _ _ _ _ _ _ _ V h k).
      apply existsb_exists. exists k. split; [apply in_seq; lia|]. rewrite F, andb_true_r.
      apply andb_true_iff. split; [apply Nat.leb_le|apply Nat.ltb_lt]; lia.
    - right; right. apply existsb_exists. exists e. split; [apply in_seq; lia|].
      pose proof (real_ge e k).
      apply existsb_exists. exists k. split; [apply in_seq; lia|]. rewrite F, andb_true_r.
      apply andb_true_iff. split; [apply Nat.leb_le|apply Nat.ltb_lt]; lia. }
  pose proof (cnt_or (fun x => blocked x || any re (S m) x)
                     (fun x => before t0 x || any ev sources x) t0 w) as O1.
  pose proof (cnt_or blocked (any re (S m)) t0 w).
  pose proof (cnt_or (before t0) (any ev sources) t0 w).
  pose proof (A re (S m)). pose proof (A ev sources). pose proof (blocked_le t0 w Sec (proj2 BW)).
  pose proof (E5 t0 w). cbv beta in O1.
  assert (sum (fun h => cnt (re h) t0 w) (S m) <= reloading w).
  { apply sum_ext. intros h Hh. unfold re. destruct (h =? i).
    { simpl. rewrite cnt_none; auto. }
    simpl.
    apply (per_job_le _ _ _ _ _ _ _ V h t0 w (jobs h w) _ (reload h) (gamma h)); auto.
    - intros x _ F. apply existsb_exists in F. destruct F as [k [_ F]].
      exists k. rewrite !andb_true_iff, Nat.leb_le, Nat.ltb_lt in F. tauto.
    - apply ceil_covers. apply (v_period _ _ _ _ _ _ _ V). }
  assert (sum (fun e => cnt (ev e) t0 w) sources
          <= sum (fun e => ceil (w + late e) (period e) * each e) sources).
  { apply sum_ext. intros e He.
    apply (events_le (period e) (late e) (each e) (ideal e) (real e) (takes e) (ev e)); auto.
    intros x _ F. unfold ev in F. apply existsb_exists in F. destruct F as [k [_ F]].
    exists k. rewrite !andb_true_iff, Nat.leb_le, Nat.ltb_lt in F. tauto. }
  unfold overhead. lia.
Qed.

(* A schedule that is preemptive and never idle while jobs are pending, but where they wait for memory, loses nothing
   besides that. *)
Definition preemptive (stalls : nat -> bool) := forall x h k, supply x = true -> stalls x = false -> h <= m ->
  pending rel cost sched h k x -> exists h' k', sched x = Some (h', k') /\ h' <= m.

Lemma preemptive_loses_nothing stalls : preemptive stalls ->
  forall t0 w, busy_window m t0 w -> cnt (fun x => lost m x && negb (stalls x)) t0 w <= 0.
Proof.
  intros P t0 w [_ Bu]. rewrite cnt_none; auto. intros x X. unfold Tasks.lost.
  destruct (supply x) eqn:Su; auto. destruct (stalls x) eqn:St; [apply andb_false_r|].
  destruct (Bu x X) as [h [k [L Q]]].
  destruct (P x h k Su St L Q) as [h' [k' [F L']]]. unfold runs_down_to. rewrite F.
  replace (h' <=? m) with true; auto. symmetry. apply Nat.leb_le. lia.
Qed.
End Losses.
