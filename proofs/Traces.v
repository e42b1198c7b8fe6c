(* Traces of servers: do the rules of [Servers.v] say what the code of the hypervisor does?

   A trace has three bits for each slot: whether the VCPU is ready, whether those above take the slot,
   and whether the server uses its budget. It comes from the code. [follows_trace] computes from the
   first two what a server of the model does, and compares with the third. What a successful check
   means for periodic and deferrable servers is [trace_sound]: budget is used exactly in the slots
   that the model's server [contends] for and gets, and never more than the budget in a period. For
   sporadic servers the model is [Sporadic.v], and [sporadic_sound] says that the trace follows all rules
   on which the theorems rest. *)
From Coq Require Import Arith Lia Bool List NArith.
From Bulkhead Require Import Counting Supply Sporadic.
From Bulkhead Require Servers.
Import ListNotations.

Record slot := { is_ready : bool; is_taken : bool; is_used : bool }.

(* A trace as a number: from its lowest bits on, three for each slot, and a last 1. *)
Fixpoint decode (p : positive) : list slot :=
  let bit q := match q with xI _ => true | _ => false end in
  let rest q := match q with xI r => r | xO r => r | xH => xH end in
  match p with
  | xI q => match q with xI r | xO r => match r with xI s | xO s =>
      {| is_ready := true; is_taken := bit q; is_used := bit r |} :: decode s | xH => [] end | xH => [] end
  | xO q => match q with xI r | xO r => match r with xI s | xO s =>
      {| is_ready := false; is_taken := bit q; is_used := bit r |} :: decode s | xH => [] end | xH => [] end
  | xH => []
  end.

(** * Periodic and deferrable servers *)

(* [pos]: the place in the period; [u]: budget that was used in it. *)
Fixpoint renewed_trace (idles : bool) (B T pos u : N) (l : list slot) : bool :=
  match l with
  | [] => true
  | s :: r =>
      let wants := (idles || is_ready s) && (u <? B)%N in
      Bool.eqb (is_used s) (wants && negb (is_taken s)) &&
      if (pos + 1 =? T)%N then renewed_trace idles B T 0 0 r
      else renewed_trace idles B T (pos + 1) (if is_used s then u + 1 else u)%N r
  end.

Section Renewed.
Variables (idles : bool) (B T : nat).
Hypothesis Tp : 0 < T.
Variable l : list slot.

Let none := {| is_ready := false; is_taken := false; is_used := false |}.
Definition at_slot x := nth x l none.
Definition used_at x := is_used (at_slot x).
Definition ready_at x := idles || is_ready (at_slot x).

Lemma trace_step k d : d < T -> used_in_period T 0 used_at (k * T + d) = cnt used_at (k * T) d.
Proof.
  intros D. unfold used_in_period. rewrite Nat.sub_0_r. rewrite Nat.add_comm, Nat.div_add, Nat.div_small by lia.
  unfold begin. simpl. f_equal. lia.
Qed.

Lemma skipn_slot x : x < length l -> skipn x l = at_slot x :: skipn (S x) l.
Proof.
  intros L. unfold at_slot. clear Tp. revert x L. induction l as [|a m IH]; intros [|x] L; simpl in *; auto; try lia.
  apply IH. lia.
Qed.

Lemma trace_correct : forall n k d, d < T -> k * T + d + n = length l ->
  renewed_trace idles (N.of_nat B) (N.of_nat T) (N.of_nat d) (N.of_nat (cnt used_at (k * T) d))
    (skipn (k * T + d) l) = true ->
  forall x, k * T + d <= x < length l ->
    used_at x = contends B T 0 used_at ready_at x && negb (is_taken (at_slot x)).
Proof.
  induction n as [|n IH]; intros k d D E R x X; [lia|].
  rewrite skipn_slot in R by lia. cbn [renewed_trace] in R. apply andb_true_iff in R.
  destruct R as [R1 R2]. apply eqb_prop in R1.
  assert (Here : used_at (k * T + d)
    = contends B T 0 used_at ready_at (k * T + d) && negb (is_taken (at_slot (k * T + d)))).
  { unfold used_at at 1. rewrite R1. f_equal. unfold contends, ready_at. rewrite trace_step by auto.
    replace (0 <=? k * T + d) with true by reflexivity. simpl. f_equal.
    destruct (Nat.ltb_spec (cnt used_at (k * T) d) B) as [G|G].
    - apply N.ltb_lt. lia.
    - apply N.ltb_ge. lia. }
  destruct (Nat.eq_dec x (k * T + d)) as [->|Nx]; [exact Here|].
  destruct (N.eqb_spec (N.of_nat d + 1) (N.of_nat T)) as [Q|Q].
  - apply (IH (S k) 0); try lia.
    replace (S k * T + 0) with (S (k * T + d)) by lia. exact R2.
  - apply (IH k (S d)); try lia. replace (k * T + S d) with (S (k * T + d)) by lia.
    replace (N.of_nat (S d)) with (N.of_nat d + 1)%N by lia.
    cbn [cnt]. fold (used_at (k * T + d)) in R2. destruct (used_at (k * T + d)).
    + replace (N.of_nat (cnt used_at (k * T) d + 1)) with (N.of_nat (cnt used_at (k * T) d) + 1)%N by lia.
      exact R2.
    + rewrite Nat.add_0_r. exact R2.
Qed.

Theorem trace_sound : renewed_trace idles (N.of_nat B) (N.of_nat T) 0 0 l = true ->
  (forall x, x < length l ->
     used_at x = contends B T 0 used_at ready_at x && negb (is_taken (at_slot x))) /\
  (forall k n, n <= T -> k * T + n <= length l -> cnt used_at (k * T) n <= B).
Proof.
  intros R. assert (A : forall x, x < length l ->
    used_at x = contends B T 0 used_at ready_at x && negb (is_taken (at_slot x))).
  { intros x X. apply (trace_correct (length l) 0 0); auto; lia. }
  split; auto. intros k n Ln. induction n as [|n IH]; intros E; [simpl; lia|]. cbn [cnt].
  destruct (used_at (k * T + n)) eqn:U; [|rewrite Nat.add_0_r; apply IH; lia].
  rewrite A in U by lia. apply andb_true_iff in U. destruct U as [U _]. unfold contends in U.
  apply andb_true_iff in U. destruct U as [_ U]. rewrite trace_step in U by lia. apply Nat.ltb_lt in U. lia.
Qed.
End Renewed.

(** * Sporadic servers *)

(* [next]: the queue of [Sporadic.v]; [was]: whether the VCPU was ready in the slot before; [loses]: the
   server may lose what could have been used for long. *)
Fixpoint sporadic_trace (most B T : N) (loses : bool) (now : N) (was : bool) (next : list N) (l : list slot) : bool :=
  match l with
  | [] => true
  | s :: r =>
      let next := if is_ready s && negb was then wake most now next else next in
      let due := nth 0 next 0%N in
      Bool.eqb (is_used s) (is_ready s && (due <=? now)%N && negb (is_taken s)) &&
      (loses || negb (is_used s) || (now + B <=? due + T)%N) &&
      sporadic_trace most B T loses (now + 1) (is_ready s) (if is_used s then use B T now next else next) r
  end.

Section SporadicTrace.
Variables (most B T : N) (loses : bool) (l : list slot).
Hypothesis Bpos : (0 < B)%N.
Hypothesis BT : (B <= T)%N.

Let used := used_at l.
Let ready := ready_at false l.
Let queue := queue most B T used ready.

(* What is checked of a slot. *)
Let good x :=
  used x = ready x && (nth 0 (queue x) 0 <=? N.of_nat x)%N && negb (is_taken (at_slot l x)) /\
  (loses = false -> used x = true -> (N.of_nat x + B <= nth 0 (queue x) 0 + T)%N).

Lemma sporadic_correct : forall n x, x + n = length l ->
  sporadic_trace most B T loses (N.of_nat x) (match x with 0 => false | S y => ready y end)
    (match x with 0 => full B | S y => left most B T used ready y end) (skipn x l) = true ->
  forall y, x <= y < length l -> good y.
Proof.
  induction n as [|n IH]; intros x E R y Y; [lia|]. rewrite skipn_slot in R by lia.
  cbn [sporadic_trace] in R. fold (used_at l x) in R. change (is_ready (at_slot l x)) with (ready x) in R.
  fold used in R.
  assert (Q : (if ready x && negb (match x with 0 => false | S y => ready y end)
     then wake most (N.of_nat x) (match x with 0 => full B | S y => left most B T used ready y end)
     else match x with 0 => full B | S y => left most B T used ready y end) = queue x).
  { destruct x; reflexivity. }
  rewrite Q in R. clear Q. rewrite !andb_true_iff in R. destruct R as [[R1 R2] R3].
  apply eqb_prop in R1. destruct (Nat.eq_dec y x) as [->|Ny].
  - split; [exact R1|]. intros Lo U. rewrite Lo, U in R2. simpl in R2. now apply N.leb_le.
  - apply (IH (S x)); try lia. replace (N.of_nat (S x)) with (N.of_nat x + 1)%N by lia. exact R3.
Qed.

(* A trace that is accepted, and then waits for ever, follows the rules on which the theorems rest: those
   of the VCPUs below, and if nothing is lost also those of its own VCPU. *)
Theorem sporadic_sound : sporadic_trace most B T loses 0 false (full B) l = true ->
  let due := due most B T used ready in
  (forall x, x < length l ->
     used x = sporadic_contends ready due x && negb (is_taken (at_slot l x))) /\
  not_early (N.to_nat B) (N.to_nat T) used ready due /\
  (loses = false -> in_time (N.to_nat B) (N.to_nat T) 0 used ready due).
Proof.
  intros R due. assert (G : forall x, x < length l -> good x).
  { intros x X. apply (sporadic_correct (length l) 0); auto; lia. }
  assert (In : forall x, used x = true -> x < length l).
  { intros x U. destruct (le_lt_dec (length l) x) as [L|]; auto. unfold used, used_at, at_slot in U.
    rewrite nth_overflow in U by auto. discriminate. }
  assert (Us : forall x, used x = true -> ready x = true /\ (nth 0 (queue x) 0 <= N.of_nat x)%N).
  { intros x U. destruct (G x (In x U)) as [G1 _]. rewrite U in G1. symmetry in G1.
    rewrite !andb_true_iff, N.leb_le in G1. tauto. }
  split; [|split].
  - intros x X. destruct (G x X) as [G1 _]. rewrite G1. f_equal. unfold sporadic_contends, due, Sporadic.due.
    f_equal. fold queue. destruct (N.leb_spec (nth 0 (queue x) 0%N) (N.of_nat x)); symmetry;
      [apply Nat.leb_le|apply Nat.leb_gt]; lia.
  - now apply server_not_early.
  - intros Lo. apply server_in_time; auto. intros x U. now apply (G x (In x U)).
Qed.
End SporadicTrace.

(** * What a file of traces computes *)

(* [most], [loses]: as above, for sporadic servers. *)
Definition follows_trace (k : Servers.kind) (most : N) (loses : bool) (B T : N) (p : positive) : bool :=
  (0 <? B)%N && (B <=? T)%N &&
  match k with
  | Servers.Periodic => renewed_trace true B T 0 0 (decode p)
  | Servers.Deferrable => renewed_trace false B T 0 0 (decode p)
  | Servers.Sporadic => sporadic_trace most B T loses 0 false (full B) (decode p)
  end.
