(* Traces of servers: do the rules of [Servers.v] say what the code of the hypervisor does?

   A trace has three bits for each slot: whether the VCPU is ready, whether those above take the slot,
   and whether the server uses its budget. It comes from the code. [follows_trace] computes from the
   first two what a server of the model does, and compares with the third. What a successful check
   means for periodic and deferrable servers is [trace_sound]: budget is used exactly in the slots
   that the model's server [contends] for and gets, and never more than the budget in a period. For
   sporadic servers [sporadic_trace] computes the sequence [avail] of the model, and [sporadic_sound]
   says that it has the property on which interference rests: a slot is available again one period
   after it was available before. *)
From Coq Require Import Arith Lia Bool List NArith.
From Bulkhead Require Import Counting Supply.
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

(* [now]; [since]: from when on the VCPU is ready, if it is; [next]: from when on each of the [B] next
   slots is replenished, the first one in front. Returns when each used slot was available. *)
Fixpoint sporadic_trace (T now : N) (since : option N) (next : list N) (l : list slot) : option (list N) :=
  match l with
  | [] => Some []
  | s :: r =>
      let since := if is_ready s then Some (match since with Some t => t | None => now end) else None in
      match since, next with
      | Some t, due :: later =>
          let got := (due <=? now)%N && negb (is_taken s) in
          if Bool.eqb (is_used s) got then
            if got then
              let available := N.max due t in
              option_map (cons available) (sporadic_trace T (now + 1) since (later ++ [(available + T)%N]) r)
            else sporadic_trace T (now + 1) since next r
          else None
      | _, _ => if is_used s then None else sporadic_trace T (now + 1) since next r
      end
  end.

Lemma sporadic_gives T l : forall now since next all,
  sporadic_trace T now since next l = Some all -> forall n, n < length all -> n < length next ->
  (nth n next 0 <= nth n all 0)%N.
Proof.
  induction l as [|s l IH]; intros now since next all E n Ln Nn; cbn [sporadic_trace] in E.
  - injection E as <-. simpl in Ln. lia.
  - destruct (if is_ready s then _ else None) as [t|] eqn:Si.
    + destruct next as [|due later]; [simpl in Nn; lia|].
      destruct (Bool.eqb _ _); [|discriminate]. destruct ((due <=? now)%N && negb (is_taken s)).
      * destruct (sporadic_trace T (now + 1) (Some t) (later ++ [(N.max due t + T)%N]) l) as [m|] eqn:R; [|discriminate].
        simpl in E. injection E as <-. destruct n as [|n]; [simpl; lia|]. simpl in *.
        specialize (IH _ _ _ _ R n ltac:(lia)). rewrite app_nth1 in IH by lia. apply IH.
        rewrite app_length. simpl. lia.
      * apply (IH _ _ _ _ E); auto.
    + destruct (is_used s); [discriminate|]. apply (IH _ _ _ _ E); auto.
Qed.

(* Whatever the trace is: slot [n + B] is available one period after slot [n] at the earliest. *)
Theorem sporadic_sound T l : forall now since next all,
  sporadic_trace T now since next l = Some all -> forall n, n + length next < length all ->
  (nth n all 0 + T <= nth (n + length next) all 0)%N.
Proof.
  induction l as [|s l IH]; intros now since next all E n Ln; cbn [sporadic_trace] in E.
  - injection E as <-. simpl in Ln. lia.
  - destruct (if is_ready s then _ else None) as [t|] eqn:Si.
    + destruct next as [|due later].
      { destruct (is_used s); [discriminate|]. apply (IH _ _ _ _ E n); auto. }
      destruct (Bool.eqb _ _); [|discriminate]. destruct ((due <=? now)%N && negb (is_taken s)).
      * destruct (sporadic_trace T (now + 1) (Some t) (later ++ [(N.max due t + T)%N]) l) as [m|] eqn:R; [|discriminate].
        simpl in E. injection E as <-. destruct n as [|n].
        -- simpl in *. pose proof (sporadic_gives _ _ _ _ _ _ R (length later) ltac:(lia)) as G.
           rewrite app_length, app_nth2, Nat.sub_diag in G by lia. simpl in G. apply G. lia.
        -- specialize (IH _ _ _ _ R n). rewrite app_length in IH. simpl in *.
           replace (length later + 1) with (S (length later)) in IH by lia. apply IH. lia.
      * apply (IH _ _ _ _ E n); auto.
    + destruct (is_used s); [discriminate|]. apply (IH _ _ _ _ E n); auto.
Qed.

(** * What a file of traces computes *)

Definition follows_trace (k : Servers.kind) (B T : N) (p : positive) : bool :=
  match k with
  | Servers.Periodic => renewed_trace true B T 0 0 (decode p)
  | Servers.Deferrable => renewed_trace false B T 0 0 (decode p)
  | Servers.Sporadic =>
      match sporadic_trace T 0 None (repeat 0%N (N.to_nat B)) (decode p) with Some _ => true | None => false end
  end.
