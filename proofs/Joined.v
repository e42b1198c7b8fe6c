(* An example: a run in which replenishments are joined, and which obeys a certificate.

   A task of 1 slot in 4 has a sporadic server of 12 slots in 40. Its VCPU becomes ready for each of the
   first 12 jobs and waits in between, so that each job takes a part of the budget of its own. From the
   ninth job on there is one part too many. *)
From Coq Require Import Arith Lia Bool List NArith.
From Bulkhead Require Import Counting Tasks Losses Supply Below Certificate Sporadic Traces.
From Bulkhead Require Servers Examples.
Import ListNotations.

Definition joined : vcpu :=
  {| above := []; at_place := Served {| kind := Servers.Sporadic; budget := 12; counted := 12; period := 40 |} 12;
     late := 0; reload := 0; sources := []; once := 0; interferers := []; on_way := 0; reloads_of_color := 0;
     tasks := [{| wcet := 1; every := 4; jitter := 0; blocking := 0; suspension := 0; colors := 0;
                  accesses := None; tied := false |}] |}.

(* The first job can have to wait for 28 slots, and nine others with it. *)
Example joined_checks :
  check joined [{| of := 0; response := 29; windows := [29; 30; 31; 32; 33; 34; 35; 36; 37; 38]%N |}] = true.
Proof. reflexivity. Qed.

(* The first slot of every four. *)
Definition slots := map (fun x => let q := x mod 4 =? 0 in
  {| is_ready := q; is_taken := false; is_used := q |}) (seq 0 45).

Definition behaves : Servers.behaviour :=
  {| Servers.used := used_at slots; Servers.ready := ready_at false slots;
     Servers.due := due 8 12 40 (used_at slots) (ready_at false slots) |}.

(* When the VCPU becomes ready for the ninth job, the slot that was due at 64 is joined with the one that is
   due at 68: it comes later, and nothing else changes. *)
Example is_joined :
  map (Servers.due behaves 31) (seq 0 12) = [29; 30; 31; 32; 40; 44; 48; 52; 56; 60; 64; 68] /\
  map (Servers.due behaves 32) (seq 0 12) = [32; 33; 34; 35; 40; 44; 48; 52; 56; 60; 67; 68].
Proof. vm_compute. auto. Qed.

Definition run_joined : run :=
  {| arr := fun h k => k * tT joined h; rel := fun h k => k * tT joined h;
     needs := fun h k => if (h =? 0) && (k <? 12) then 1 else 0;
     sched := fun x => if used_at slots x then Some (0, x / 4) else None;
     susp := fun _ _ _ => false; starts := fun _ => 0; does := fun _ => behaves;
     unserved := fun _ => false; waits := fun _ _ => false; whose := fun _ _ _ _ _ => false;
     early_one := fun _ _ _ _ => false; epoch := fun _ _ => 0; causes := fun _ _ _ _ => false |}.

Lemma not_taken x : is_taken (at_slot slots x) = false.
Proof.
  assert (A : forall l, forallb (fun s => negb (is_taken s)) l = true ->
    forall x d, is_taken d = false -> is_taken (nth x l d) = false).
  { induction l as [|s l IH]; intros F [|y] d D; simpl in *; auto; apply andb_true_iff in F; destruct F as [F1 F2].
    - now apply negb_true_iff.
    - now apply IH. }
  apply A; reflexivity.
Qed.

Lemma follows_rules : let s := server_of joined run_joined 0 in
  (forall x, Servers.wants s behaves x = true -> used_at slots x = true) /\
  Servers.follows s behaves /\ Servers.supplies s behaves.
Proof.
  destruct (sporadic_sound 8 12 40 false slots ltac:(lia) ltac:(lia) ltac:(now vm_compute)) as [A [F S]].
  split; [|split; [exact F|now apply S]]. intros x Q.
  change (sporadic_contends (ready_at false slots) (due 8 12 40 (used_at slots) (ready_at false slots)) x = true) in Q.
  destruct (le_lt_dec (length slots) x) as [L|L].
  - unfold sporadic_contends, ready_at, at_slot in Q. rewrite nth_overflow in Q by auto. discriminate.
  - rewrite A by auto. rewrite Q. simpl. now rewrite not_taken.
Qed.

Notation done := (complete (needs run_joined) (sched run_joined)).

Lemma none_needed h k x : h <> 0 \/ 12 <= k -> done h k x.
Proof.
  intros H. unfold complete. simpl. destruct (Nat.eqb_spec h 0); [|simpl; lia].
  destruct (Nat.ltb_spec k 12); simpl; lia.
Qed.

Lemma done_next k : k < 12 -> done 0 k (4 * k + 1).
Proof.
  intros L. assert (A : forallb (fun k => needs run_joined 0 k <=? service (sched run_joined) 0 k (4 * k + 1))
    (seq 0 12) = true) by (vm_compute; reflexivity).
  rewrite forallb_forall in A. apply Nat.leb_le, A, in_seq. lia.
Qed.

(* A job is pending only in the slot in which it arrives. *)
Lemma pending_at h k x : pending (rel run_joined) (needs run_joined) (sched run_joined) h k x ->
  h = 0 /\ k < 12 /\ x = 4 * k.
Proof.
  intros [R N]. destruct (Nat.eq_dec h 0) as [->|H].
  2: { exfalso. apply N, none_needed. now left. }
  destruct (le_lt_dec 12 k) as [L|L].
  { exfalso. apply N, none_needed. now right. }
  repeat split; auto. change (k * 4 <= x) in R. destruct (Nat.eq_dec x (4 * k)); auto. exfalso. apply N.
  apply complete_mono with (t := 4 * k + 1); [lia|now apply done_next].
Qed.

Lemma runs_at k : k < 12 -> sched run_joined (4 * k) = Some (0, k) /\ used_at slots (4 * k) = true
  /\ ready_at false slots (4 * k) = true /\ ~ done 0 k (4 * k).
Proof.
  intros L. assert (A : forallb (fun k => used_at slots (4 * k) && ready_at false slots (4 * k) &&
      (service (sched run_joined) 0 k (4 * k) =? 0)) (seq 0 12) = true) by (vm_compute; reflexivity).
  rewrite forallb_forall in A. specialize (A k (proj2 (in_seq 12 0 k) ltac:(lia))).
  rewrite !andb_true_iff, Nat.eqb_eq in A. destruct A as [[A1 A2] A3]. repeat split; auto.
  - cbn [sched run_joined]. rewrite A1. do 2 f_equal. rewrite Nat.mul_comm. now apply Nat.div_mul.
  - unfold complete. rewrite A3. simpl. replace (k <? 12) with true by (symmetry; apply Nat.ltb_lt; lia). lia.
Qed.

Lemma used_only x : used_at slots x = true -> exists k, k < 12 /\ x = 4 * k.
Proof.
  intros U. assert (L : x < 45).
  { destruct (le_lt_dec 45 x); auto. unfold used_at, at_slot in U. rewrite nth_overflow in U; [discriminate|].
    unfold slots. now rewrite map_length, seq_length. }
  assert (A : forallb (fun x => negb (used_at slots x) || (x mod 4 =? 0)) (seq 0 45) = true)
    by (vm_compute; reflexivity).
  rewrite forallb_forall in A. specialize (A x (proj2 (in_seq 45 0 x) ltac:(lia))). rewrite U in A.
  apply Nat.eqb_eq in A. exists (x / 4). pose proof (Nat.div_mod x 4). lia.
Qed.

Theorem joined_is_obeyed : obeys joined run_joined.
Proof.
  destruct follows_rules as [Wants [Follows Supplies]].
  split; [|split; [|split]].
  - constructor.
    + intros [|h] k; [|apply Nat.le_0_l]. change (tC joined 0) with 1. cbn [needs run_joined].
      now destruct (0 =? 0), (k <? 12); simpl; lia.
    + now apply Examples.periods_positive.
    + intros h k. cbn [arr run_joined]. nia.
    + intros h k. cbn [arr rel run_joined]. lia.
    + intros x h k E. cbn [sched run_joined] in E. destruct (used_at slots x) eqn:U; [|discriminate].
      destruct (used_only x U) as [j [Lj ->]]. destruct (runs_at j Lj) as [Q [_ [_ N]]].
      cbn [sched run_joined] in Q. rewrite U in Q. rewrite Q in E. injection E as <- <-.
      split; [change (j * 4 <= 4 * j); lia|]. split; auto. intros k' Lk.
      apply complete_mono with (t := 4 * k' + 1); [lia|]. apply done_next. lia.
  - constructor; [simpl; intros; lia|discriminate|]. intros. rewrite cnt_none; [lia|auto].
  - unfold pcpu_obeys. cbn [at_place joined]. change (own_number joined) with 0.
    split; [|split; [|split; [|split; [|split]]]].
    + intros h L. replace h with 0 by lia. exact Follows.
    + exact Supplies.
    + intros x h L W. replace h with 0 in * by lia. right. exists 0. split; auto. now apply Wants.
    + intros t w _ _. rewrite cnt_none; [lia|auto].
    + intros h k x El. apply eligible_pending in El. apply pending_at in El. destruct El as [-> [L ->]].
      apply (runs_at k L).
    + intros. simpl. lia.
  - intros i Li. split; [|intros _ j Lj; simpl in Lj; lia]. simpl in Li. replace i with 0 by lia.
    apply Examples.loses_nothing; [reflexivity|]. intros x h k _ _ _ Lh Q. apply pending_at in Q.
    destruct Q as [-> [L ->]]. exists 0, k. split; auto. apply (runs_at k L).
Qed.
